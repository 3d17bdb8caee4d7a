/** Applies the light or the dark theme: as the settings say, or as the system has it. */

import { useEffect, useSyncExternalStore } from 'react';
import { useAppState } from './context.tsx';

const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

/** Key of the last theme and density, which apply from the first moment, before the settings. */
const KEPT = 'millrace-appearance';

function applyTheme(theme: string, density: string): void {
  const root = document.documentElement;
  root.dataset.theme = theme === 'system' ? (system.matches ? 'dark' : 'light') : theme;
  root.dataset.density = density;
  for (const listener of [...listeners]) listener();
}

export function applyKeptTheme(): void {
  let [theme, density] = ['system', 'comfortable'];
  try {
    [theme = theme, density = density] = (localStorage.getItem(KEPT) ?? '').split(' ');
  } catch {
    // A browser that keeps nothing shows the system's theme until it is connected.
  }
  applyTheme(theme === '' ? 'system' : theme, density);
}

/** Keeps the page in the theme of the settings. */
export function useTheme(): void {
  const appearance = useAppState(({ settings }) => settings?.appearance);
  useEffect(() => {
    if (appearance === undefined) return;
    const { theme, density } = appearance;
    const apply = () => applyTheme(theme, density);
    apply();
    try {
      localStorage.setItem(KEPT, `${theme} ${density}`);
    } catch {
      // Without a kept value, only the first moment of the page may look different.
    }
    system.addEventListener('change', apply);
    return () => system.removeEventListener('change', apply);
  }, [appearance]);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useDark(): boolean {
  return useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme === 'dark');
}
