/** Actions on several downloads at once. */

import { IconButton } from '@millrace/shared/ui/icon-button';
import { canPause, canResume, canRetry } from '../../model/failure.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { MoreMenu } from '../common/menu.tsx';
import { useDownloadMenu } from './list-menu.tsx';
import { Tool } from './tool.tsx';

export function SelectionTools({ count }: { count: number }) {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const { gids } = useAppState((state) => state.selection);
  const rows = [...gids].flatMap((gid) => app.rows.get(gid) ?? []);
  const pausable = rows.filter(canPause).map(({ gid }) => gid);
  const paused = rows.filter(canResume).map(({ gid }) => gid);
  const failed = rows.filter(canRetry).map(({ gid }) => gid);
  const groups = useDownloadMenu();
  const onlyDone = rows.length > 0 && rows.every(({ status }) => status === 'complete');
  return (
    <div className="tools line" role="toolbar" aria-label={text.t('bar.selection')}>
      <span className="selected-count figures" role="status">
        {text.n('selected', count)}
      </span>
      {pausable.length > 0 && (
        <Tool
          icon="paused"
          label={text.t('action.pause')}
          run={() => void actions.pause(pausable)}
        />
      )}
      {paused.length > 0 && (
        <Tool
          icon="resume"
          label={text.t('action.resume')}
          run={() => void actions.resume(paused)}
        />
      )}
      {failed.length > 0 && (
        <Tool icon="retry" label={text.t('action.retry')} run={() => void actions.retry(failed)} />
      )}
      <Tool
        icon={onlyDone ? 'clear' : 'remove'}
        label={onlyDone ? text.t('action.takeOff') : text.t('action.remove')}
        run={() => void actions.remove([...gids])}
      />
      <MoreMenu groups={groups} />
      <IconButton
        name="close"
        label={text.t('bar.unselect')}
        isLarge
        onClick={() => actions.unselect()}
      />
    </div>
  );
}
