/** The user's choices, in `storage.local` under `settings`. */

import { readOrThrow } from '@millrace/shared/schema/read';
import { z } from 'zod';

const MIB = 1024 * 1024;
const MAX_RULES = 1000;
const host = z.string().min(1).max(253);
const hosts = z.array(host).max(MAX_RULES);

export const settingsSchema = z.object({
  /** False: the extension leaves everything alone. */
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
  /** Where not empty: only downloads of these hosts are taken. */
  onlyHosts: hosts.default([]),
  /** File extensions without the dot, lower case, that are always taken, at any size. */
  alwaysTypes: z.array(z.string().max(20)).max(MAX_RULES).default([]),
  /** File name endings that are never taken. */
  neverTypes: z.array(z.string().max(20)).max(MAX_RULES).default([]),
  /** Taker of downloads: the desktop if it is there, otherwise the browser; or only one of them. */
  taker: z.enum(['auto', 'desktop', 'browser']).default('auto'),
  /**
   * Chromium: the engine in the extension takes files without TLS, for which the browser would ask
   * the user.
   */
  takeInsecure: z.boolean().default(false),
  edges: z
    .array(
      z.object({
        /** Base URL. */
        url: z.string().max(2048),
        /** Hosts, subdomains included, whose files may be fetched through it. */
        hosts,
      }),
    )
    .max(64)
    .default([]),
  /** Use the edges that publishers name for their own files (`Link` fields). */
  publisherEdges: z.boolean().default(true),
  /** Held during a click: that download is left alone. */
  skipKey: z.enum(['alt', 'shift', 'ctrl', 'none']).default('alt'),
  notifications: z.boolean().default(true),
  theme: z.enum(['system', 'light', 'dark']).default('system'),
});

export type Settings = z.output<typeof settingsSchema>;

export const DEFAULT_SETTINGS: Settings = readOrThrow(settingsSchema, {});
