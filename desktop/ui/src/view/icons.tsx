/** The icons, drawn on a grid of 16: lines in the colour of the text around them. */

const PATHS = {
  add: 'M8 3v10M3 8h10',
  all: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  active: 'M8 2.5v8M4.8 7.6 8 10.8l3.2-3.2M3 13.5h10',
  queued: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 5v3.2l2 1.3',
  done: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M5.6 8.2l1.7 1.7 3.2-3.6',
  failed: 'M8 2.6 14 13H2zM8 6.6v3M8 11.2v.1',
  paused: 'M5.8 4v8M10.2 4v8',
  resume: 'M5.5 3.5v9l7-4.5z',
  retry: 'M12.8 6.5A5.2 5.2 0 1 0 13.2 9M13 3v3.6H9.4',
  remove: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4.2M9.2 7v4.2',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 2.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4M10.2 10.2l3.3 3.3',
  sort: 'M4.5 3v10M2.5 11l2 2 2-2M9 4h5M9 8h4M9 12h2.5',
  more: 'M3.4 8h.1M8 8h.1M12.6 8h.1',
  settings:
    'M8 5.8a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4M8 1.8v1.9M8 12.3v1.9M1.8 8h1.9M12.3 8h1.9M3.6 3.6 5 5M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4',
  link: 'M6.8 9.2 9.2 6.8M7.3 4.6l1.5-1.5a2.9 2.9 0 0 1 4.1 4.1l-1.5 1.5M8.7 11.4l-1.5 1.5a2.9 2.9 0 0 1-4.1-4.1l1.5-1.5',
  folder: 'M2.5 12.5v-9h4l1.4 1.8h5.6v7.2z',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  images:
    'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 6.8a1.2 1.2 0 1 1 0 2.4 1.2 1.2 0 0 1 0-2.4',
  video: 'M2.5 4h8v8h-8zM10.5 7l3-2v6l-3-2z',
  audio:
    'M6 12V4l6.5-1.3v8M6 12a1.7 1.7 0 1 1-3.4 0A1.7 1.7 0 0 1 6 12M12.5 10.7a1.7 1.7 0 1 1-3.4 0 1.7 1.7 0 0 1 3.4 0',
  archives: 'M2.5 3h11v3h-11zM3.5 6v7.5h9V6M6.5 8.5h3',
  documents: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3M6 8.5h4M6 11h4',
  programs: 'M2.5 3.5h11v9h-11zM2.5 6.2h11M5 9l1.3 1.2L5 11.4',
  tag: 'M2.5 2.5h5.2l5.8 5.8-5.2 5.2-5.8-5.8zM5.3 5.3h.1',
  edge: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M2.5 8h11M8 2.5c2.2 3.3 2.2 7.7 0 11M8 2.5c-2.2 3.3-2.2 7.7 0 11',
  limit: 'M2.8 11.8a5.8 5.8 0 1 1 10.4 0M8 9.5l2.8-3.4',
  schedule: 'M2.5 3.8h11v9.7h-11zM2.5 6.8h11M5.3 2.3v2.6M10.7 2.3v2.6',
  proxy: 'M2.5 8h3.2M10.3 8h3.2M5.7 4.8h4.6v6.4H5.7z',
  integration: 'M6 2.5v3.2M10 2.5v3.2M4 5.7h8v2.6a4 4 0 0 1-8 0zM8 12.3v1.5',
  exchange: 'M5 13V4M2.5 6.2 5 3.5l2.5 2.7M11 3v9M8.5 9.8 11 12.5l2.5-2.7',
  appearance: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11M8 2.5v11',
  language:
    'M2.5 4h7M6 2.5V4M4 4c.4 2.6 2 4.2 4.2 5.2M8 4c-.4 2.6-2.4 4.6-5 5.6M8 13.5l2.8-6.4 2.8 6.4M8.9 11.5h3.8',
  categories:
    'M2.8 2.8h4.4v4.4H2.8zM8.8 2.8h4.4v4.4H8.8zM2.8 8.8h4.4v4.4H2.8zM8.8 8.8h4.4v4.4H8.8z',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  panel: 'M2.5 3h11v10h-11zM9.5 3v10',
  up: 'M8 13V3M4 7l4-4 4 4',
  down: 'M8 3v10M4 9l4 4 4-4',
  check: 'M3.5 8.5l3 3 6-7',
  chevron: 'M6 4l4 4-4 4',
  offline: 'M2.5 6.2a8 8 0 0 1 11 0M4.6 8.6a5 5 0 0 1 6.8 0M8 11.6v.1M2.5 2.5l11 11',
  metalink: 'M4 2.5h5l3 3v8H4zM6.5 9.5l3-2M6.5 9.5h.1M9.5 7.5h.1M9.5 11.3l-3-1.8',
  keyboard: 'M1.8 4.5h12.4v7H1.8zM4.2 7h.1M6.7 7h.1M9.2 7h.1M11.7 7h.1M5 9.4h6',
  logout: 'M9.5 2.8h4v10.4h-4M9.5 8h-7M5 5.2 2.2 8 5 10.8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  clear: 'M2.5 4h8M2.5 8h5M2.5 12h5M10 9.5l3.5 3.5M13.5 9.5 10 13',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
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
