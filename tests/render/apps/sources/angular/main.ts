import { Component, inject, signal } from '@angular/core';
import { HttpClient, provideHttpClient } from '@angular/common/http';
import { bootstrapApplication } from '@angular/platform-browser';
import { provideRouter, Router, RouterLink, RouterOutlet } from '@angular/router';

@Component({ selector: 'app-page', template: '<article><p>{{ text() }}</p></article>' })
class Page {
  text = signal('Loading');

  constructor() {
    const path = encodeURIComponent(location.pathname);
    inject(HttpClient)
      .get<{ text: string }>('/api/page?path=' + path)
      .subscribe((page) => this.text.set(page.text));
  }
}

@Component({
  selector: 'app-root',
  imports: [RouterLink, RouterOutlet],
  template: `<nav>@for (path of menu(); track path) { <a [routerLink]="path">{{ path }}</a> }</nav>
    <router-outlet />`,
})
class App {
  menu = signal<string[]>([]);

  constructor() {
    inject(HttpClient).get<string[]>('/api/menu').subscribe((menu) => this.menu.set(menu));
  }
}

bootstrapApplication(App, {
  providers: [provideHttpClient(), provideRouter([{ path: '**', component: Page }])],
});
