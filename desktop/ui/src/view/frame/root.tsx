/** The whole page. */

import { MINI_PATH } from '@millrace/shared/bridge/page/mini-path';
import { useEffect, useRef } from 'react';
import { isByAccount, type SessionAnswer } from '../../api/session.ts';
import { type DialogState, hasPanel, WIDE_WINDOW_PX } from '../../model/app-state.ts';
import { AddDialog } from '../add/add-dialog.tsx';
import { DropZone } from '../add/drop-zone.tsx';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { DoneBanner } from '../common/done-banner.tsx';
import {
  ChangeDialog,
  KeysDialog,
  LimitDialog,
  NewLinkDialog,
  RepairDialog,
} from '../common/small-dialogs.tsx';
import { hasSounds, play, soundOf } from '../common/sounds.ts';
import { useTheme } from '../common/theme.ts';
import { Toasts } from '../common/toasts.tsx';
import { Details } from '../details/details.tsx';
import { DownloadList } from '../list/list.tsx';
import { ToolBar } from '../list/tool-bar.tsx';
import { RemoveDialog, TrashDialog } from '../list/trash-dialogs.tsx';
import { Mini } from '../mini/mini.tsx';
import { SettingsDialog } from '../settings/settings.tsx';
import { ExtendDialog } from '../shares/extend-dialog.tsx';
import { HealthDialog } from '../shares/health-dialog.tsx';
import { InviteDialog } from '../shares/invite-dialog.tsx';
import { SendDialog } from '../shares/send-dialog.tsx';
import { SharedBar, SharedList } from '../shares/shared-list.tsx';
import { AccountLogIn } from './account-log-in.tsx';
import { LinkBanner } from './link-banner.tsx';
import { LogIn } from './log-in.tsx';
import { useShellMessages } from './shell-messages.ts';
import { SideBar } from './side-bar.tsx';

export function Root({ answer }: { answer: SessionAnswer | undefined }) {
  const text = useText();
  const loggedOut = useAppState(({ link }) => link.kind === 'logged-out');
  useTheme();
  useEffect(() => {
    const { documentElement: page } = document;
    page.lang = text.language;
    page.dir = text.direction;
  }, [text]);
  if (!loggedOut) return location.pathname === MINI_PATH ? <Mini /> : <Page />;
  return isByAccount() ? <AccountLogIn /> : <LogIn answer={answer} />;
}

function Page() {
  const app = useApp();
  const search = useRef<HTMLInputElement>(null);
  const panelOpen = useAppState(hasPanel);
  const section = useAppState((state) => state.section);
  const sideOpen = useAppState((state) => state.sideOpen);
  const dialog = useAppState((state) => state.dialog);
  const offline = useAppState(({ link, known }) => link.kind === 'lost' && known);
  useKeys(search);
  useShellMessages(search);
  useTitle();
  useSounds();
  return (
    <div className={`page${panelOpen ? ' with-details' : ''}${offline ? ' offline' : ''}`}>
      <SideBar />
      {sideOpen && (
        // biome-ignore lint/a11y/noStaticElementInteractions: Escape does the same.
        // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same.
        <div className="side-veil" onClick={() => app.store.set({ sideOpen: false })} />
      )}
      <main className="main">
        {section === 'shared' ? <SharedBar /> : <ToolBar search={search} />}
        <LinkBanner />
        <DoneBanner />
        {section === 'shared' ? <SharedList /> : <DownloadList />}
      </main>
      {panelOpen && <Details />}
      {dialog !== undefined && <OpenDialog dialog={dialog} />}
      <DropZone />
      <Toasts />
    </div>
  );
}

function OpenDialog({ dialog }: { dialog: DialogState }) {
  switch (dialog.kind) {
    case 'add':
      return <AddDialog given={dialog} />;
    case 'send':
      return <SendDialog files={dialog.files} />;
    case 'extend':
      return <ExtendDialog id={dialog.id} />;
    case 'health':
      return <HealthDialog id={dialog.id} />;
    case 'invite':
      return <InviteDialog url={dialog.url} />;
    case 'new-link':
      return <NewLinkDialog gid={dialog.gid} />;
    case 'change':
      return <ChangeDialog gid={dialog.gid} />;
    case 'repair':
      return <RepairDialog gid={dialog.gid} />;
    case 'remove':
      return <RemoveDialog gids={dialog.gids} summary={dialog.summary} files={dialog.files} />;
    case 'trash':
      return <TrashDialog />;
    case 'limit':
      return <LimitDialog />;
    case 'settings':
      return <SettingsDialog page={dialog.page} />;
    case 'keys':
      return <KeysDialog />;
  }
}

type SearchField = React.RefObject<HTMLInputElement | null>;

/** Handles keys that mean the same everywhere; most of them do nothing while the user types. */
function useKeys(search: SearchField): void {
  const app = useApp();
  const actions = useActions();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const control = event.ctrlKey || event.metaKey;
      const target = event.target as Element;
      const typing = target.closest('input, textarea, select, [role="menu"]') !== null;
      if (app.state.dialog !== undefined || event.defaultPrevented) return;
      if (control && event.key === ',') actions.openSettings();
      else if (control && event.key === 'f') search.current?.select();
      else if (control && !event.shiftKey && event.key === 'z' && !typing) void actions.undo();
      else if (typing || control || event.altKey) return;
      else if (event.key === '/') search.current?.select();
      else if (event.key === 'n') actions.add();
      else if (event.key === 's') actions.open({ kind: 'send', files: [] });
      else if (event.key === '?') actions.open({ kind: 'keys' });
      else if (event.key === 'Escape') goBack();
      else return;
      event.preventDefault();
    };
    const goBack = () => {
      const { sideOpen, selection } = app.state;
      if (sideOpen) app.store.set({ sideOpen: false });
      else if (window.innerWidth < WIDE_WINDOW_PX && hasPanel(app.state)) actions.setPanel(false);
      else if (selection.gids.size > 0 || hasPanel(app.state)) actions.unselect();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [app, actions, search]);
}

/** Plays a sound when a download ends, if the user wants sounds. */
function useSounds(): void {
  const totals = useAppState((state) => state.totals);
  const wanted = useAppState(({ settings }) => hasSounds(settings));
  const before = useRef(totals);
  useEffect(() => {
    const sound = soundOf(before.current, totals);
    before.current = totals;
    // A system without a loudspeaker has no sounds.
    if (wanted && sound !== undefined) void play(sound).catch(() => undefined);
  }, [totals, wanted]);
}

/** Shows total progress in the title, for users who see only the tab. */
function useTitle(): void {
  const text = useText();
  const percent = useAppState(({ totals }) => {
    const { stored = 0, length = 0 } = totals?.activeBytes ?? {};
    return length === 0 ? -1 : Math.floor((stored / length) * 100);
  });
  useEffect(() => {
    const name = text.t('app.name');
    document.title = percent < 0 ? name : `${percent}% · ${name}`;
  }, [text, percent]);
}
