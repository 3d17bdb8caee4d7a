/** The state of everything that the interface shows, except the rows of the list. */

import type { MetalinkFile } from '@millrace/shared/bridge/rpc/adding-api';
import type { DownloadDetail, SpeedHistory } from '@millrace/shared/bridge/rpc/detail-api';
import type { Totals } from '@millrace/shared/bridge/rpc/list-api';
import type { AppSettings } from '@millrace/shared/bridge/rpc/settings-api';
import type { ShareView } from '@millrace/shared/bridge/rpc/share-api';
import type { RemovalSummary } from '@millrace/shared/bridge/rpc/trash-api';
import type { LinkState } from '../api/connection.ts';
import { FIRST_VIEW, type View } from './filter.ts';
import { EMPTY_WINDOW, type ListWindow } from './list-window.ts';
import { NO_SELECTION, type Selection } from './selection.ts';
import type { Toast } from './toasts.ts';

export type SettingsPage =
  | 'folders'
  | 'categories'
  | 'after'
  | 'edges'
  | 'depots'
  | 'limits'
  | 'schedule'
  | 'proxy'
  | 'exchange'
  | 'devices'
  | 'integration'
  | 'resolvers'
  | 'appearance'
  | 'language';

/** A Metalink document, a torrent, a magnet link or an exNode from the user, and its contents as the daemon reads them. */
export interface GivenMetalink {
  readonly name: string;
  readonly base64: string;
  readonly files: readonly MetalinkFile[];
  /** True for a torrent, or a magnet link. */
  readonly torrent?: boolean;
  /** Set for an exNode. */
  readonly exnode?: { readonly isEncrypted: boolean };
}

export type DialogState =
  | {
      readonly kind: 'add';
      readonly text: string;
      readonly metalinks: readonly GivenMetalink[];
      /** True for links that another program or a web page has brought: nobody asks for them yet. */
      readonly offered?: boolean;
    }
  /** Files to send; none: the user chooses one in the dialog. */
  | { readonly kind: 'send'; readonly files: readonly File[] }
  | { readonly kind: 'extend'; readonly id: string }
  | { readonly kind: 'health'; readonly id: string }
  | { readonly kind: 'invite'; readonly url: string }
  | { readonly kind: 'new-link'; readonly gid: string }
  | { readonly kind: 'change'; readonly gid: string }
  | { readonly kind: 'repair'; readonly gid: string }
  | {
      readonly kind: 'remove';
      readonly gids: readonly string[];
      readonly summary: RemovalSummary;
      readonly files: boolean;
    }
  | { readonly kind: 'trash' }
  | { readonly kind: 'limit' }
  | { readonly kind: 'settings'; readonly page: SettingsPage }
  | { readonly kind: 'keys' };

export interface AppState {
  readonly link: LinkState;
  /** True once there has been a connection: without one, shown data are old, not missing. */
  readonly known: boolean;
  readonly totals: Totals | undefined;
  readonly settings: AppSettings | undefined;
  readonly speed: SpeedHistory;
  readonly view: View;
  /** Content beside the side bar. */
  readonly section: 'downloads' | 'shared';
  /** Files that were sent, newest first; undefined: not read yet. */
  readonly shares: readonly ShareView[] | undefined;
  readonly list: ListWindow;
  readonly listState: 'loading' | 'ready' | { readonly failed: string };
  readonly selection: Selection;
  /** False once the user has closed the panel of details: choosing a row then leaves it closed. */
  readonly panelOpen: boolean;
  /**
   * Gid of the download whose details are shown: the last one that the user has chosen. It stays
   * although its row leaves the list, until the user chooses another, or it is removed.
   */
  readonly inspected: string | undefined;
  readonly detail: DownloadDetail | undefined;
  readonly toasts: readonly Toast[];
  readonly dialog: DialogState | undefined;
  /** True while the side bar is open in a narrow window. */
  readonly sideOpen: boolean;
}

const NO_SPEED: SpeedHistory = { endsAt: 0, stepMs: 1000, bytesPerSecond: [] };

export const FIRST_STATE: AppState = {
  link: { kind: 'connecting' },
  known: false,
  totals: undefined,
  settings: undefined,
  speed: NO_SPEED,
  view: FIRST_VIEW,
  section: 'downloads',
  shares: undefined,
  list: EMPTY_WINDOW,
  listState: 'loading',
  selection: NO_SELECTION,
  panelOpen: true,
  inspected: undefined,
  detail: undefined,
  toasts: [],
  dialog: undefined,
  sideOpen: false,
};

/** Narrowest window, pixels, with room for the details beside the list: the style sheets have it too. */
export const WIDE_WINDOW_PX = 1100;

/** Returns true if the panel of details is shown: without a download it would be empty. */
export function hasPanel({ section, inspected }: AppState): boolean {
  return section === 'downloads' && inspected !== undefined;
}
