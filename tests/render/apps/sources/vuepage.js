import { h } from "vue";

export default {
  data: () => ({ text: "Loading" }),
  async mounted() {
    // A pause, as a skeleton screen has one.
    await new Promise((done) => setTimeout(done, 1500));
    this.text = (await (await fetch("/api/page?path=" + encodeURIComponent(this.$route.path))).json()).text;
  },
  render() { return h("article", h("p", this.text)); },
};
