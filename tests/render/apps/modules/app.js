import { show } from "pages";
import menu from "./menu.js";

document.querySelector("nav").append(...await menu());
await show(document.querySelector("article"));
