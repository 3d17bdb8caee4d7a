/** The mini view: total speed and running downloads, for a window that stays beside other work. */

import { IconButton } from '@millrace/shared/ui/icon-button';
import { Bar } from '@millrace/shared/ui/row-signs';
import { useEffect, useState } from 'react';
import { shareOf } from '../../model/failure.ts';
import { percent, rate } from '../../text/format.ts';
import { useActions, useApp, useAppState, useRow, useText } from '../common/context.tsx';
import { DoneBanner } from '../common/done-banner.tsx';

/** Most running downloads in the mini view. */
const MAX_SHOWN = 50;

export function Mini() {
  const text = useText();
  const actions = useActions();
  const speed = useAppState(({ totals }) => totals?.bytesPerSecond ?? 0);
  const count = useAppState(({ totals }) => totals?.byStatus.active ?? 0);
  const paused = useAppState(({ totals }) => totals?.byStatus.paused ?? 0);
  const isLost = useAppState(({ link }) => link.kind === 'lost');
  const others = useOthers();
  const gids = useRunning();
  const state = isLost
    ? text.t('problem.connection')
    : [text.n('mini.running', count), ...others].join(' · ');
  return (
    <main className="mini" aria-label={text.t('mini.label')}>
      <header className={`mini-head${isLost ? ' lost' : ''}`}>
        {!isLost && <strong className="figures">{rate(text, speed)}</strong>}
        <span className="quiet cut" role="status" title={state}>
          {state}
        </span>
        {!isLost && count > 0 && (
          <IconButton
            name="paused"
            label={text.t('bar.pauseAll')}
            onClick={() => void actions.pause()}
          />
        )}
        {!isLost && paused > 0 && (
          <IconButton
            name="resume"
            label={text.t('bar.resumeAll')}
            onClick={() => void actions.resume()}
          />
        )}
      </header>
      <DoneBanner />
      {!isLost && count === 0 && (
        <div className="mini-idle quiet">
          <p>{text.t('side.idle')}</p>
          <p className="note">{others.join(' · ')}</p>
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
      <ul className="mini-list" tabIndex={0} aria-label={text.t('mini.list')}>
        {gids.map((gid) => (
          <MiniRow key={gid} gid={gid} />
        ))}
      </ul>
    </main>
  );
}

function MiniRow({ gid }: { gid: string }) {
  const text = useText();
  const row = useRow(gid);
  if (row === undefined) return null;
  const share = shareOf(row);
  return (
    <li>
      <span className="cut" title={row.name}>
        {row.name}
      </span>
      <span className="quiet figures">
        {share === undefined ? rate(text, row.bytesPerSecond) : percent(text, share)}
      </span>
      <Bar share={share} tone="active" isRunning={true} />
    </li>
  );
}

/** Returns how many downloads do not run and are not complete either, in words. */
function useOthers(): readonly string[] {
  const text = useText();
  const waiting = useAppState(
    ({ totals }) => (totals?.byStatus.queued ?? 0) + (totals?.byStatus.waiting ?? 0),
  );
  const paused = useAppState(({ totals }) => totals?.byStatus.paused ?? 0);
  const failed = useAppState(({ totals }) => totals?.byStatus.error ?? 0);
  return [
    ...(failed > 0 ? [text.n('mini.failed', failed)] : []),
    ...(paused > 0 ? [text.n('mini.paused', paused)] : []),
    ...(waiting > 0 ? [text.n('mini.waiting', waiting)] : []),
  ];
}

/** Returns the running downloads, whatever the list of the page shows. */
function useRunning(): readonly string[] {
  const app = useApp();
  const isOpen = useAppState(({ link }) => link.kind === 'open');
  const revision = useAppState(({ list }) => list.revision);
  const active = useAppState(({ totals }) => totals?.byStatus.active ?? 0);
  const [gids, setGids] = useState<readonly string[]>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other downloads run after such a change.
  useEffect(() => {
    if (!isOpen) return;
    let isOld = false;
    const asked = { status: ['active'], limit: MAX_SHOWN } as const;
    app.call('millrace.list', asked).then(
      ({ downloads }) => {
        if (isOld) return;
        for (const row of downloads) app.rows.set(row.gid, row);
        setGids(downloads.map(({ gid }) => gid));
      },
      () => undefined,
    );
    return () => {
      isOld = true;
    };
  }, [app, isOpen, revision, active]);
  return gids;
}
