/**
 * The methods that the user interface calls, by name: one object of parameters, one result. Errors
 * are JSON-RPC errors; those of the table of errors carry `FailureData` in `data`.
 *
 * Calls on a WebSocket are answered in order; notifications between them are as new as the answers.
 */

import type {
  AddManyResult,
  AddRequest,
  Duplicate,
  ImportPreview,
  MetalinkFile,
  ParsedText,
} from './adding-api.ts';
import type { DownloadStatus, DownloadView } from './daemon-api.ts';
import type { DownloadDetail } from './detail-api.ts';
import type { EdgeEntry, EdgeTest } from './edge-api.ts';
import type { ListPage, ListQuery } from './list-api.ts';
import type { WatchRequest, WatchResult } from './live-api.ts';
import type { AppSettings, SettingsChange } from './settings-api.ts';
import type { Emptied, RemovalSummary, RemoveRequest, TrashPage } from './trash-api.ts';

/** No parameters, or no result. */
export type Nothing = Readonly<Record<string, never>>;
export interface Gids {
  readonly gids: readonly string[];
}
interface OneGid {
  readonly gid: string;
}

export interface DaemonInfo {
  readonly version: string;
  readonly pid: number;
  /** State folder. */
  readonly state: string;
  /** Download folder. */
  readonly dir: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** As of `process.platform`. */
  readonly platform: string;
}

/** null: none. What has to start a running download anew does so. */
export interface ChangeRequest extends Gids {
  readonly priority?: number;
  /** Bytes per second. */
  readonly limit?: number | null;
  /** Also of finished ones, if nothing else is changed; the folder follows where nothing has begun. */
  readonly category?: string | null;
  /** null: now. */
  readonly startAt?: number | null;
  readonly dir?: string;
  readonly file?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections?: number;
  readonly proxy?: string;
  readonly digests?: readonly { readonly algorithm: string; readonly hex: string }[];
  /** Failed ones, too: they are tried again with the change. */
  readonly retry?: boolean;
}

export interface ImportRequest {
  readonly text: string;
  readonly paused?: boolean;
  /** Also folders elsewhere, overwriting, cookie files, netrc, proxies, header fields and edges. */
  readonly trusted?: boolean;
}

export interface UiMethods {
  'millrace.info': [Nothing, DaemonInfo];
  /** Only for callers with the token. */
  'millrace.loginLink': [Nothing, { readonly url: string }];
  /** The same, as a file that only the user can read: for the command line of a browser. */
  'millrace.loginPage': [Nothing, { readonly path: string }];
  'millrace.watch': [WatchRequest, WatchResult];
  'millrace.unwatch': [Nothing, Nothing];

  'millrace.list': [ListQuery, ListPage];
  'millrace.status': [OneGid, DownloadView];
  'millrace.detail': [OneGid & { readonly cells?: number }, DownloadDetail];

  'millrace.add': [AddRequest, { readonly gid: string }];
  'millrace.addMany': [{ readonly downloads: readonly AddRequest[] }, AddManyResult];
  /** metalink: base64; only: places of the files that are wanted, default all. */
  'millrace.addMetalink': [
    Omit<AddRequest, 'urls' | 'file' | 'digests'> & {
      readonly metalink: string;
      readonly only?: readonly number[];
    },
    Gids,
  ];
  'millrace.readMetalink': [
    { readonly metalink: string },
    { readonly files: readonly MetalinkFile[] },
  ];
  'millrace.parseText': [{ readonly text: string }, ParsedText];
  'millrace.checkDuplicates': [
    { readonly urls: readonly string[] },
    { readonly duplicates: readonly Duplicate[] },
  ];

  /** Without gids: all. The result names those that were changed. */
  'millrace.pause': [Partial<Gids>, Gids];
  'millrace.resume': [Partial<Gids>, Gids];
  /** Failed and removed ones, and those that wait for another attempt. */
  'millrace.retry': [Gids, Gids];
  /** undo: what to give to `undoRemove`, unless it was for good. */
  'millrace.remove': [RemoveRequest, Gids & { readonly undo?: string }];
  'millrace.removalSummary': [Gids, RemovalSummary];
  /**
   * Brings back a removal, by default the last one. What has been added anew under the same name
   * keeps its bytes.
   */
  'millrace.undoRemove': [{ readonly undo?: string }, Gids];
  /** Takes finished downloads out of the history, into the trash. */
  'millrace.purge': [
    { readonly status?: readonly DownloadStatus[]; readonly before?: number },
    { readonly count: number; readonly undo?: string },
  ];
  'millrace.trash': [{ readonly offset?: number; readonly limit?: number }, TrashPage];
  'millrace.restoreTrash': [Gids, Gids];
  /** Deletes for good; without gids: all. */
  'millrace.emptyTrash': [Partial<Gids>, Emptied];
  'millrace.changeMany': [ChangeRequest, Gids];
  /** Puts them, in this order, before another of the line; null: at its end. */
  'millrace.place': [Gids & { readonly before: string | null }, Gids];
  'millrace.addUrl': [OneGid & { readonly url: string }, Nothing];
  /** For an expired link: taken if it has the same file. */
  'millrace.replaceUrl': [OneGid & { readonly url: string }, DownloadView];
  /** Address for a media player. */
  'millrace.stream': [OneGid, { readonly url: string }];

  'millrace.getSettings': [Nothing, AppSettings];
  'millrace.setSettings': [SettingsChange, AppSettings];
  'millrace.addEdge': [{ readonly url: string; readonly name?: string }, Edges];
  'millrace.changeEdge': [
    { readonly url: string; readonly name?: string; readonly enabled?: boolean },
    Edges,
  ];
  'millrace.removeEdge': [{ readonly url: string }, Edges];
  'millrace.testEdge': [{ readonly url: string }, EdgeTest];

  'millrace.export': [
    {
      readonly format: 'json' | 'urls' | 'aria2';
      readonly which?: 'queue' | 'history' | 'all';
      readonly secrets?: boolean;
    },
    { readonly text: string },
  ];
  /** What `import` would do, with the same parameters. */
  'millrace.previewImport': [ImportRequest, ImportPreview];
  'millrace.import': [
    ImportRequest,
    Gids & { readonly skipped: readonly { readonly line: number; readonly reason: string }[] },
  ];
  'millrace.getLimits': [Nothing, LearnedLimits];
  /** Forgets what was learned of one host's limits, or of all. */
  'millrace.setLimits': [
    { readonly forgetHosts: true } | { readonly forgetHost: string },
    LearnedLimits,
  ];
  'millrace.shutdown': [Nothing, Nothing];
}

export interface LearnedHost {
  /** With its port, as in `URL.host`. */
  readonly host: string;
  /** Requests at a time. */
  readonly limit: number;
  /** It has asked not to be asked before, Unix milliseconds. */
  readonly restsUntil?: number | undefined;
  /** When the limit was changed last, Unix milliseconds. */
  readonly learnedAt: number;
}

export interface LearnedLimits {
  /** Of whom something is known that holds still. */
  readonly hosts: readonly LearnedHost[];
}

interface Edges {
  readonly edges: readonly EdgeEntry[];
}

export type UiMethod = keyof UiMethods;
export type ParamsOf<M extends UiMethod> = UiMethods[M][0];
export type ResultOf<M extends UiMethod> = UiMethods[M][1];
