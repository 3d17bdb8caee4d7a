/** The settings by which an edge gets its own certificate. */

import { MillraceError } from '@millrace/shared/base/errors';
import * as z from 'zod';
import { type Setting, text } from './readers.ts';

/** Reads the name of a host, not an address. @throws MillraceError `bad-option` */
function parseHost(value: string): string {
  const name = value.toLowerCase();
  if (
    /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(
      name,
    )
  ) {
    return name;
  }
  throw new MillraceError('bad-option', 'must be a name such as edge.example.org');
}

function parseDirectory(value: string): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value;
  throw new MillraceError('bad-option', 'must be a URL');
}

export const ACME_SETTINGS = {
  'acme-name': {
    argument: '<name>',
    help: 'name of this edge, for which it gets a certificate by ACME (RFC 8555) and renews it: it writes the files of --tls-cert and --tls-key, and the authority reaches this edge at port 443, or --http-port at port 80; giving this option accepts the terms of the authority',
    schema: text(parseHost),
    default: undefined,
  },
  'acme-directory': {
    argument: '<url>',
    help: 'directory of the authority for --acme-name',
    schema: text(parseDirectory),
    default: 'https://acme-v02.api.letsencrypt.org/directory',
  },
  'acme-contact': {
    argument: '<address>',
    help: 'mail address that the authority may write to; none by default',
    schema: z.email(),
    default: undefined,
  },
} as const satisfies Record<string, Setting>;

export interface AcmeConfig {
  readonly acmeName: string | undefined;
  readonly acmeDirectory: string;
  readonly acmeContact: string | undefined;
}

/** Checks the settings against others. @param stop ends the program with a message */
export function checkAcme(
  { acmeName, tlsCert }: AcmeConfig & { readonly tlsCert: string | undefined },
  stop: (message: string) => never,
): void {
  if (acmeName === undefined) return;
  if (tlsCert === undefined) stop('--acme-name needs --tls-cert and --tls-key, which it writes');
}
