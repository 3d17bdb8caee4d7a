/** Hints for publishers about a finding, on the servers that most of them have. */

import type { FindingId } from '@millrace/shared/http/origin/origin-findings';

export interface Hint {
  readonly server: string;
  readonly text: string;
  /** Lines of configuration, or a command. */
  readonly code?: string;
}

/** Finds the hints; none if nothing need be done. */
export function findingHints(id: FindingId): readonly Hint[] {
  return HINTS[id] ?? [];
}

const RANGES: readonly Hint[] = [
  {
    server: 'nginx',
    text: 'Files are served with ranges by default. Behind proxy_pass, let the proxy cut them, and switch off filters that change the body of downloads:',
    code: 'location /downloads/ {\n  gzip off;\n  max_ranges 64;\n  proxy_force_ranges on;  # behind proxy_pass\n}',
  },
  {
    server: 'Apache',
    text: 'Do not limit ranges, and do not compress downloads:',
    code: '<Location "/downloads/">\n  MaxRanges default\n  SetEnv no-gzip 1\n</Location>',
  },
  {
    server: 'S3 and the like',
    text: 'Objects have ranges. If a script or function answers in front of them, link to the object itself, or let it pass Range on and answer 206.',
  },
];

const VERSION: readonly Hint[] = [
  {
    server: 'nginx',
    text: 'Files have both by default; filters that change the body (sub_filter, gzip, ssi) remove the ETag or make it weak:',
    code: 'location /downloads/ {\n  etag on;\n  gzip off;\n}',
  },
  {
    server: 'Apache',
    text: 'Make the ETag from date and size, the same on all servers, and do not compress downloads:',
    code: 'FileETag MTime Size\n<Location "/downloads/">\n  SetEnv no-gzip 1\n</Location>',
  },
  {
    server: 'S3 and the like',
    text: 'Objects have a strong ETag. If a CDN in front compresses, switch that off for these files.',
  },
];

const LIFETIME: readonly Hint[] = [
  {
    server: 'nginx',
    text: 'Say how long copies stay valid. For files that are never replaced under the same name:',
    code: 'location /downloads/ {\n  add_header Cache-Control "public, max-age=86400";\n}',
  },
  {
    server: 'Apache',
    text: 'With mod_headers:',
    code: '<Location "/downloads/">\n  Header set Cache-Control "public, max-age=86400"\n</Location>',
  },
  {
    server: 'S3 and the like',
    text: 'Cache-Control is a property of the object:',
    code: 'aws s3 cp file.iso s3://bucket/file.iso --cache-control "public, max-age=86400"',
  },
];

const COOKIES: readonly Hint[] = [
  {
    server: 'nginx',
    text: 'Serve downloads from the disk, or remove the cookie of the application:',
    code: 'location /downloads/ {\n  proxy_hide_header Set-Cookie;\n}',
  },
  {
    server: 'Apache',
    text: 'With mod_headers:',
    code: '<Location "/downloads/">\n  Header always unset Set-Cookie\n  Header unset Set-Cookie\n</Location>',
  },
  { server: 'S3 and the like', text: 'Link to the bucket instead of the application.' },
];

const VARY: readonly Hint[] = [
  {
    server: 'nginx',
    text: 'Remove the field where all visitors get the same file:',
    code: 'location /downloads/ {\n  gzip off;\n  proxy_hide_header Vary;\n}',
  },
  {
    server: 'Apache',
    text: 'With mod_headers:',
    code: '<Location "/downloads/">\n  Header unset Vary\n</Location>',
  },
  { server: 'S3 and the like', text: 'Link to the bucket instead of the application.' },
];

const only = (text: string): readonly Hint[] => [{ server: 'In general', text }];

const HINTS: Partial<Readonly<Record<FindingId, readonly Hint[]>>> = {
  'not-found': only('Check the link in a private window of your browser.'),
  gone: only('Publish another link.'),
  denied: only(
    'Files behind a log-in cannot be served by edges. Move the file to where everybody may read it, or hand the link out without the edge.',
  ),
  busy: only('If this continues, raise the limit on requests for the addresses of your edges.'),
  'ranges-ignored': RANGES,
  'ranges-wrong': RANGES,
  encoded: RANGES,
  'length-unknown': RANGES,
  'date-only': VERSION,
  'etag-weak': VERSION,
  'etag-weak-only': VERSION,
  'version-none': VERSION,
  'version-unstable': VERSION,
  'own-version-refused': VERSION,
  'no-revalidation': VERSION,
  'fresh-briefly': LIFETIME,
  'fresh-never': LIFETIME,
  'fresh-guessed': LIFETIME,
  'no-store': LIFETIME,
  private: LIFETIME,
  'set-cookie': COOKIES,
  vary: VARY,
  'type-missing': [
    {
      server: 'nginx',
      text: 'Give files without a known extension a type:',
      code: 'default_type application/octet-stream;',
    },
    { server: 'Apache', text: 'By extension:', code: 'AddType application/octet-stream .iso .img' },
    {
      server: 'S3 and the like',
      text: 'Content-Type is a property of the object:',
      code: 'aws s3 cp file.iso s3://bucket/file.iso --content-type application/octet-stream',
    },
  ],
  'type-page': only('Follow the link in a browser and copy the address of the download itself.'),
  redirects: only(
    'One redirect costs little. If the last address is meant for everybody and lasts, link to it.',
  ),
  'redirect-downgrade': only('Let the redirect lead to an https address.'),
  'signed-link': only('Publish the file under a link that is the same for everybody.'),
  plain: only('Publish the file under https, or publish its digest beside it.'),
};
