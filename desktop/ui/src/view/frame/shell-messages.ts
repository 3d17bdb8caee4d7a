/** Handles the desktop app's messages to the page: links from outside, commands of its menus. */

import type { ShellMessage } from '@millrace/shared/bridge/page/shell-api';
import { type RefObject, useEffect } from 'react';
import type { GivenMetalink } from '../../model/app-state.ts';
import { readMetalink } from '../../model/metalinks.ts';
import { shell } from '../../model/shell.ts';
import { useActions, useApp } from '../common/context.tsx';

export function useShellMessages(search: RefObject<HTMLInputElement | null>): void {
  const app = useApp();
  const actions = useActions();
  useEffect(() => {
    const offer = async ({ from, urls, metalinks }: ShellMessage & { kind: 'offer' }) => {
      const read: GivenMetalink[] = [];
      for (const { name, metalink } of metalinks) {
        const given = await app.attempt(readMetalink(app, name, metalink));
        if (given !== undefined) read.push(given);
      }
      if (urls.length > 0 || read.length > 0) {
        // Links on the clipboard are there because the user has copied them.
        const offered = from !== 'clipboard';
        actions.open({ kind: 'add', text: urls.join('\n'), metalinks: read, offered });
      }
    };
    return shell?.onMessage((message) => {
      if (message.kind === 'offer') void offer(message);
      else if (message.kind === 'reveal') {
        actions.choose(message.gid, { shift: false, toggle: false });
        actions.setPanel(true);
      } else if (message.command === 'add') actions.add();
      else if (message.command === 'settings') actions.openSettings();
      else if (message.command === 'search') search.current?.select();
      else void actions.selectAll();
    });
  }, [app, actions, search]);
}
