import { mount } from "svelte";
import App from "./Svelte.svelte";

mount(App, { target: document.getElementById("root") });
