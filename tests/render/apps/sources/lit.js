/* Elements within elements: their shadow roots are open, closed, and declared in a template. */
import { LitElement, html, css } from "lit";

class MenuElement extends LitElement {
  static properties = { paths: { state: true } };
  static styles = css`a { display: block; }`;
  constructor() { super(); this.paths = []; }
  async connectedCallback() {
    super.connectedCallback();
    this.paths = await (await fetch("/api/menu")).json();
  }
  render() { return html`${this.paths.map((path) => html`<a href=${path}><slot></slot>${path}</a>`)}`; }
}

class TextElement extends LitElement {
  static properties = { text: { state: true } };
  static shadowRootOptions = { ...LitElement.shadowRootOptions, mode: "closed" };
  constructor() { super(); this.text = "Loading"; }
  async connectedCallback() {
    super.connectedCallback();
    const reply = await fetch("/api/page?path=" + encodeURIComponent(location.pathname));
    this.text = (await reply.json()).text;
  }
  render() { return html`<p>${this.text}</p>`; }
}

class AppElement extends LitElement {
  render() { return html`<app-menu>To </app-menu><article><app-text></app-text></article>`; }
}

customElements.define("app-menu", MenuElement);
customElements.define("app-text", TextElement);
customElements.define("the-app", AppElement);
