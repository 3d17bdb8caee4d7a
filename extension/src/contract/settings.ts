/** The user's settings, stored in `storage.local` under `settings`. */

import { readOrThrow } from '@millrace/shared/schema/read';
import * as z from 'zod';

const MIB = 1024 * 1024;
const MAX_RULES = 1000;
const host = z.string().min(1).max(253);
const hosts = z.array(host).max(MAX_RULES);

export const settingsSchema = z.object({
  /** Whether the extension is on; if not, it leaves everything alone. */
  on: z.boolean().default(true),
  /** Smallest size of downloads to take, bytes. */
  minBytes: z
    .number()
    .int()
    .min(0)
    .max(2 ** 40)
    .default(16 * MIB),
  /** Hosts, subdomains included, whose downloads are left alone. */
  offHosts: hosts.default([]),
  /** If not empty, only downloads of these hosts, subdomains included, are taken. */
  onlyHosts: hosts.default([]),
  /** File extensions, lower case without the dot, that are always taken, at any size. */
  alwaysTypes: z.array(z.string().max(20)).max(MAX_RULES).default([]),
  /** File extensions, lower case without the dot, that are never taken. */
  neverTypes: z.array(z.string().max(20)).max(MAX_RULES).default([]),
  /**
   * Taker of downloads: `auto` is the desktop if it is available, otherwise the browser; `remote`
   * is the paired daemon of another machine.
   */
  taker: z.enum(['auto', 'desktop', 'browser', 'remote']).default('auto'),
  /**
   * In Chromium, whether the engine in the extension takes files without TLS, about which the
   * browser would ask the user.
   */
  takeInsecure: z.boolean().default(false),
  edges: z
    .array(
      z.object({
        /** Base URL of the edge. */
        url: z.string().max(2048),
        /** Hosts, subdomains included, whose files may be fetched through the edge. */
        hosts,
      }),
    )
    .max(64)
    .default([]),
  /** Use the edges that publishers name for their own files (`Link` fields). */
  publisherEdges: z.boolean().default(true),
  /** Key that, held during a click, leaves that download alone. */
  skipKey: z.enum(['alt', 'shift', 'ctrl', 'none']).default('alt'),
  notifications: z.boolean().default(true),
  theme: z.enum(['system', 'light', 'dark']).default('system'),
});

export type Settings = z.output<typeof settingsSchema>;

export const DEFAULT_SETTINGS: Settings = readOrThrow(settingsSchema, {});
