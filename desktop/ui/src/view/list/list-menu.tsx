/** The menu of the selected downloads. */

import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { IconName } from '@millrace/shared/ui/icons';
import * as ContextMenu from '@radix-ui/react-context-menu';
import type { ReactNode } from 'react';
import {
  canPause,
  canRepair,
  canResume,
  canRetry,
  hasFile,
  isQueued,
} from '../../model/failure.ts';
import { targets } from '../../model/selection.ts';
import { isOwnMachine, shell } from '../../model/shell.ts';
import { useCategories } from '../common/category-select.tsx';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { type MenuEntry, MenuGroups } from '../common/menu.tsx';

export function ListMenu({ children }: { children: ReactNode }) {
  const { direction } = useText();
  return (
    <ContextMenu.Root dir={direction}>
      <ContextMenu.Trigger asChild>{children}</ContextMenu.Trigger>
      <ContextMenu.Portal>
        <ContextMenu.Content className="menu" collisionPadding={8}>
          <Entries />
        </ContextMenu.Content>
      </ContextMenu.Portal>
    </ContextMenu.Root>
  );
}

function Entries() {
  return <MenuGroups kit={ContextMenu} groups={useDownloadMenu()} />;
}

/** Returns the actions on the selected downloads, in groups. */
export function useDownloadMenu(): MenuEntry[][] {
  const app = useApp();
  const actions = useActions();
  const text = useText();
  const categories = useCategories();
  const selection = useAppState((state) => state.selection);
  const gids = targets(selection);
  const rows = gids.flatMap((gid) => app.rows.get(gid) ?? []);
  const only = (test: (row: DownloadView) => boolean) => rows.filter(test).map(({ gid }) => gid);
  const groups: MenuEntry[][] = [[], [], [], []];
  const [state, queue, one, end] = groups as [MenuEntry[], MenuEntry[], MenuEntry[], MenuEntry[]];
  const add = (
    group: MenuEntry[],
    to: readonly string[],
    icon: IconName,
    label: string,
    run: (gids: readonly string[]) => void,
    more: Partial<MenuEntry> = {},
  ) => to.length > 0 && group.push({ icon, label, run: () => run(to), ...more });

  add(state, only(canPause), 'paused', text.t('action.pause'), (to) => void actions.pause(to));
  add(state, only(canResume), 'resume', text.t('action.resume'), (to) => void actions.resume(to));
  add(state, only(canRetry), 'retry', text.t('action.retry'), (to) => void actions.retry(to));
  const line = only(isQueued);
  add(queue, line, 'up', text.t('action.top'), (to) => void actions.toTop(to));
  add(queue, line, 'down', text.t('action.bottom'), (to) => void actions.place(to, null));
  add(queue, gids, 'categories', text.t('details.category'), () => {}, {
    choices: categories.map(({ value, label }) => ({
      label,
      chosen: rows.length > 0 && rows.every(({ category }) => category === (value ?? undefined)),
      run: () => void actions.setCategory(gids, value),
    })),
  });
  const single = rows.length === 1 ? rows[0] : undefined;
  if (single !== undefined) {
    const { gid } = single;
    if (shell !== undefined && hasFile(single)) {
      add(one, [gid], 'file', text.t('action.openFile'), () => void actions.openFile(gid));
      add(
        one,
        [gid],
        'folder',
        text.t('action.showInFolder'),
        () => void actions.showInFolder(gid),
      );
    }
    if (isOwnMachine && canRepair(single)) {
      const repair = () => actions.open({ kind: 'repair', gid });
      add(one, [gid], 'retry', text.t('action.repair.more'), repair);
    }
    if (single.status !== 'complete') {
      const newLink = () => actions.open({ kind: 'new-link', gid });
      add(one, [gid], 'link', text.t('action.newLink.more'), newLink);
      const change = () => actions.open({ kind: 'change', gid });
      add(one, [gid], 'settings', text.t('action.change.more'), change);
    }
    add(one, [gid], 'panel', text.t('action.details'), () => actions.setPanel(true), { key: '↵' });
  }
  add(one, gids, 'copy', text.t('action.copyLink'), (to) => void actions.copyLinks(to));
  const done = only(({ status }) => status === 'complete');
  const onlyDone = rows.length > 0 && done.length === rows.length;
  const label = onlyDone ? text.t('action.takeOff') : text.t('action.remove');
  const icon = onlyDone ? 'clear' : 'remove';
  add(end, gids, icon, label, (to) => void actions.remove(to), { key: text.t('cap.del') });
  const removeFiles = (to: readonly string[]) => void actions.deleteFiles(to);
  add(end, only(hasFile), 'remove', text.t('action.delete'), removeFiles, { danger: true });
  return groups;
}
