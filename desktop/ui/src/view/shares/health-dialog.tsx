/** Shows which depots hold a file that was sent, how these do, and how many copies it has; repairs it. */

import type { ShareHealth, ShareView } from '@millrace/shared/bridge/rpc/share-api';
import { allowsShown, type ShareAction } from '@millrace/shared/share/share-state';
import { Loading } from '@millrace/shared/ui/empty';
import { Bar } from '@millrace/shared/ui/row-signs';
import { useEffect, useState } from 'react';
import { bytes, dateTime, hostOf, rate } from '../../text/format.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { Dialog } from '../common/dialog.tsx';
import { shareName, stateOf } from './share-words.ts';

interface Asked {
  readonly isAsking: boolean;
  /** The last answer, also while they are asked anew. */
  readonly health?: ShareHealth;
  readonly failure?: string;
}

/** Asks the depots, and anew whenever they have been changed or the daemon is back. @param turn changes when the user asks again */
function useHealth(id: string, isChanging: boolean, turn: number): Asked {
  const app = useApp();
  const isOpen = useAppState(({ link }) => link.kind === 'open');
  const [asked, setAsked] = useState<Asked>({ isAsking: true });
  // The user may ask any number of times.
  const question = `${id} ${turn}`;
  useEffect(() => {
    if (isChanging || !isOpen) return;
    const [of = ''] = question.split(' ');
    let isWanted = true;
    setAsked(({ health }) => ({ isAsking: true, ...(health && { health }) }));
    const told = (answer: Asked) => isWanted && setAsked(answer);
    app.call('millrace.checkShare', { id: of }).then(
      (health) => told({ isAsking: false, health }),
      (error: unknown) => told({ isAsking: false, failure: app.reason(error) }),
    );
    return () => {
      isWanted = false;
    };
  }, [app, question, isChanging, isOpen]);
  return asked;
}

export function HealthDialog({ id }: { id: string }) {
  const actions = useActions();
  const shares = useAppState((state) => state.shares);
  const share = shares?.find((one) => one.id === id);
  // It has been taken out of the list elsewhere.
  const isGone = shares !== undefined && share === undefined;
  useEffect(() => {
    if (isGone) actions.open(undefined);
  }, [actions, isGone]);
  return share === undefined ? null : <OfShare share={share} />;
}

function OfShare({ share }: { share: ShareView }) {
  const text = useText();
  const actions = useActions();
  const [turn, setTurn] = useState(0);
  const { id, changing, trouble, state } = share;
  const isChanging = changing !== undefined;
  const { isAsking, health, failure } = useHealth(id, isChanging, turn);
  const may = (action: ShareAction) => allowsShown(share, action);
  const isWorth =
    health !== undefined &&
    health.missingBytes === 0 &&
    (health.lacksCopies || state === 'expired');
  return (
    <Dialog title={text.t('health.title', { name: shareName(text, share) })} size="medium">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
      <section className="dialog-body" tabIndex={0} aria-label={text.t('share.health')}>
        {isChanging && <Work share={share} />}
        <div className="health" aria-live="polite" aria-busy={isAsking || isChanging}>
          {isAsking && !isChanging && health === undefined && (
            <Loading label={text.t('health.asking')} rows={3} />
          )}
          {failure !== undefined && (
            <p className="bad">{text.t('health.unknown', { why: failure })}</p>
          )}
          {trouble !== undefined && (
            <p>
              <span className="bad">{text.error(trouble).title}</span>
              <span className="note">{text.error(trouble).help}</span>
            </p>
          )}
          {health !== undefined && <Holders depots={health.depots} />}
          {health !== undefined && <Copies health={health} isWorth={isWorth && may('repair')} />}
        </div>
      </section>
      <div className="dialog-foot">
        <button
          type="button"
          className="button"
          disabled={!may('check')}
          onClick={() => setTurn(turn + 1)}
        >
          {text.t(isAsking && !isChanging ? 'health.asking' : 'health.again')}
        </button>
        <button
          type="button"
          className="button"
          disabled={!may('extend')}
          onClick={() => actions.open({ kind: 'extend', id })}
        >
          {text.t('share.extend')}
        </button>
        {may('stop') ? (
          <button
            type="button"
            className="button"
            onClick={() => void actions.shares.stopRepair(id)}
          >
            {text.t('health.stop')}
          </button>
        ) : (
          <button
            type="button"
            className="button primary"
            disabled={!may('repair') || !isWorth}
            onClick={() => void actions.shares.repair(id)}
          >
            {text.t('health.repair')}
          </button>
        )}
      </div>
    </Dialog>
  );
}

/** Shows what the depots are being asked for. */
function Work({ share }: { share: ShareView }) {
  const text = useText();
  const { repair } = share;
  const { word } = stateOf(text, share, 0);
  if (repair === undefined || repair.totalBytes === 0) return <p className="quiet">{word}</p>;
  const { storedBytes, totalBytes } = repair;
  const figures = { done: bytes(text, storedBytes), all: bytes(text, totalBytes) };
  return (
    <div className="health-work">
      <p className="quiet">{word}</p>
      <Bar share={Math.min(1, storedBytes / totalBytes)} tone="active" isRunning />
      <span className="note figures">{text.t('health.stored', figures)}</span>
    </div>
  );
}

function Holders({ depots }: { depots: ShareHealth['depots'] }) {
  const text = useText();
  return (
    <ul className="holders" aria-label={text.t('health.depots')}>
      {depots.map(({ depot, state, bytes: held, expires, rate: speed, isLink }) => (
        <li key={depot} data-state={state}>
          <strong className="cut" title={depot}>
            {hostOf(depot)}
          </strong>
          <span className={TONES[state]}>{text.t(`health.state.${state}`)}</span>
          <span className="note">
            {text.t('health.held', { bytes: bytes(text, held) })}
            {speed !== undefined && ` · ${text.t('health.rate', { rate: rate(text, speed) })}`}
          </span>
          <span className="note">
            {expires !== undefined && text.t('share.until', { when: dateTime(text, expires) })}
          </span>
          {isLink && (
            <span className={`note link${isReadable(state) ? '' : ' bad'}`}>
              {text.t(isReadable(state) ? 'health.link' : 'health.linkBroken')}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

type HolderState = ShareHealth['depots'][number]['state'];

function isReadable(state: HolderState): boolean {
  return state === 'good' || state === 'slow';
}

/** Class of a state's word. */
const TONES: Readonly<Record<HolderState, string>> = {
  ...{ good: 'good', slow: 'warn', expired: 'quiet' },
  ...{ silent: 'bad', failing: 'bad', lost: 'bad' },
};

function Copies({ health, isWorth }: { health: ShareHealth; isWorth: boolean }) {
  const text = useText();
  const { parts, missingBytes, mayFail, wantedCopies, lacksCopies } = health;
  const [first] = parts;
  return (
    <div className="health-copies">
      {parts.length === 1 && first !== undefined && first.copies > 0 && (
        <p>{text.n('health.each', first.copies)}</p>
      )}
      {parts.length > 1 && (
        <ul className="part-copies" aria-label={text.t('health.parts')}>
          {parts.map(({ copies, bytes: of }) => (
            <li key={copies}>
              <span className="figures">{bytes(text, of)}</span>
              <span className={copies === 0 ? 'bad' : ''}>
                {copies === 0 ? text.t('health.noCopy') : text.n('health.copies', copies)}
              </span>
            </li>
          ))}
        </ul>
      )}
      {missingBytes > 0 && (
        <p className="bad">{text.t('health.missing', { bytes: bytes(text, missingBytes) })}</p>
      )}
      {lacksCopies && isWorth && <p>{text.n('health.lacks', wantedCopies)}</p>}
      {missingBytes === 0 && (
        <p className="quiet">
          {mayFail === 0 ? text.t('health.noneMayFail') : text.n('health.mayFail', mayFail)}
        </p>
      )}
    </div>
  );
}
