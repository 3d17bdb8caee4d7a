/** Draws the icons, as lines in the colour of the surrounding text. */

import { ICON_PATHS, type IconName } from '../style/icon-paths.ts';

export type { IconName };

export function Icon({ name, size = 16 }: { name: IconName; size?: number | undefined }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICON_PATHS[name]} />
    </svg>
  );
}

export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 256 256" aria-hidden="true" className="logo">
      <rect width="256" height="256" rx="58" />
      <path className="side" d="M62 52c0 44 66 40 66 84M194 52c0 44-66 40-66 84M58 216h140" />
      <path d="M128 52v124M82 134l46 46 46-46" />
    </svg>
  );
}
