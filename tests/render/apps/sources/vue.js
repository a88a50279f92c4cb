import { createApp, h } from "vue";
import { createRouter, createWebHistory, RouterLink, RouterView } from "vue-router";

const Page = () => import("./vuepage.js");
const router = createRouter({
  history: createWebHistory(),
  routes: [{ path: "/:rest(.*)*", component: Page }],
});

const App = {
  data: () => ({ menu: [] }),
  async mounted() { this.menu = await (await fetch("/api/menu")).json(); },
  render() {
    const links = this.menu.map((path) => h(RouterLink, { to: path, key: path }, () => path));
    return h("main", [h("nav", links), h(RouterView)]);
  },
};

createApp(App).use(router).mount("#root");
