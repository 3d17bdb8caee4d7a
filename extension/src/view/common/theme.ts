/** Applies the light or dark theme, as the settings or the system choose. */

import type { Settings } from '../../contract/settings.ts';

type Theme = Settings['theme'];

const system = window.matchMedia('(prefers-color-scheme: dark)');

/** Key of the last theme, which pages show from the start, before the settings arrive. */
const KEPT = 'millrace-theme';

let chosen: Theme = 'system';

function apply(): void {
  const theme = chosen === 'system' ? (system.matches ? 'dark' : 'light') : chosen;
  document.documentElement.dataset.theme = theme;
}

export function applyKeptTheme(): void {
  const kept = localStorage.getItem(KEPT);
  if (kept === 'light' || kept === 'dark') chosen = kept;
  apply();
  system.addEventListener('change', apply);
}

export function setTheme(theme: Theme): void {
  chosen = theme;
  localStorage.setItem(KEPT, theme);
  apply();
}
