/** Settings that all windows of the app have in common: their pages reach nothing but the daemon. */

export const CONFINED = {
  sandbox: true,
  contextIsolation: true,
  nodeIntegration: false,
  webSecurity: true,
  webviewTag: false,
  spellcheck: false,
} as const;

/** Colours of a window before its page is shown: those of the page. */
export const BACKGROUND = { dark: '#11161b', light: '#f4f6f7' } as const;
