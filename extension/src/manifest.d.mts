/** Sizes of the icon in pixels. */
export const ICON_SIZES: readonly number[];

export function manifest(
  browser: string,
  version: string,
  has: (path: string) => boolean,
): Record<string, unknown>;
