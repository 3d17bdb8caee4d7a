/** Shows which depots hold a file that was sent, how these do, and how many copies each part has. */

import type { ShareHealth } from '@millrace/shared/bridge/rpc/share-api';
import { allowsShown } from '@millrace/shared/share/share-state';
import { Loading } from '@millrace/shared/ui/empty';
import { useEffect, useState } from 'react';
import { bytes, dateTime, hostOf, rate } from '../../text/format.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { Dialog } from '../common/dialog.tsx';
import { shareName } from './share-words.ts';

type Answer = { readonly health: ShareHealth } | { readonly failure: string } | undefined;

/** Asks the depots anew whenever they have been changed. @returns undefined while they are asked */
function useHealth(id: string, isChanging: boolean): Answer {
  const app = useApp();
  const text = useText();
  const [answer, setAnswer] = useState<Answer>();
  useEffect(() => {
    if (isChanging) return;
    let isWanted = true;
    setAnswer(undefined);
    app.call('millrace.checkShare', { id }).then(
      (health) => isWanted && setAnswer({ health }),
      () => isWanted && setAnswer({ failure: text.t('health.unknown') }),
    );
    return () => {
      isWanted = false;
    };
  }, [app, id, isChanging, text]);
  return answer;
}

export function HealthDialog({ id }: { id: string }) {
  const text = useText();
  const actions = useActions();
  const share = useAppState(({ shares }) => shares?.find((one) => one.id === id));
  const isChanging = share?.changing !== undefined;
  const answer = useHealth(id, isChanging);
  const health = answer !== undefined && 'health' in answer ? answer.health : undefined;
  const name = share === undefined ? '' : shareName(text, share);
  const may = (action: Parameters<typeof allowsShown>[1]) =>
    share !== undefined && !isChanging && allowsShown(share.state, action);
  return (
    <Dialog title={text.t('health.title', { name })} size="medium">
      <div className="dialog-body" aria-live="polite">
        {isChanging && (
          <p className="quiet">{text.t(`share.changing.${share.changing ?? 'repairing'}`)}</p>
        )}
        {!isChanging && answer === undefined && (
          <Loading label={text.t('health.asking')} rows={3} />
        )}
        {answer !== undefined && 'failure' in answer && <p className="bad">{answer.failure}</p>}
        {share?.trouble !== undefined && <p className="bad">{text.error(share.trouble).title}</p>}
        {health !== undefined && <Holders depots={health.depots} />}
        {health !== undefined && <Copies health={health} />}
      </div>
      <div className="dialog-foot">
        <button
          type="button"
          className="button"
          disabled={!may('extend')}
          onClick={() => actions.open({ kind: 'extend', id })}
        >
          {text.t('share.extend')}
        </button>
        <button
          type="button"
          className="button primary"
          disabled={!may('repair') || health?.lacksCopies !== true || health.missingBytes > 0}
          onClick={() => void actions.shares.repair(id)}
        >
          {text.t('health.repair')}
        </button>
      </div>
    </Dialog>
  );
}

function Holders({ depots }: { depots: ShareHealth['depots'] }) {
  const text = useText();
  return (
    <ul className="holders" aria-label={text.t('health.depots')}>
      {depots.map(({ depot, state, bytes: held, expires, rate: speed }) => (
        <li key={depot} data-state={state}>
          <strong className="cut" title={depot}>
            {hostOf(depot)}
          </strong>
          <span className={TONES[state]}>{text.t(`health.state.${state}`)}</span>
          <span className="note">
            {bytes(text, held)}
            {speed !== undefined && ` · ${text.t('health.rate', { rate: rate(text, speed) })}`}
          </span>
          <span className="note">
            {expires !== undefined && text.t('share.until', { when: dateTime(text, expires) })}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Class of a state's word. */
const TONES: Readonly<Record<ShareHealth['depots'][number]['state'], string>> = {
  ...{ good: 'good', slow: 'warn', expired: 'quiet' },
  ...{ silent: 'bad', failing: 'bad', lost: 'bad' },
};

function Copies({ health }: { health: ShareHealth }) {
  const text = useText();
  const { parts, missingBytes, mayFail } = health;
  const [first] = parts;
  return (
    <>
      {parts.length === 1 && first !== undefined && <p>{text.n('health.each', first.copies)}</p>}
      {parts.length > 1 && (
        <ul className="part-copies" aria-label={text.t('health.parts')}>
          {parts.map(({ start, end, copies }) => (
            <li key={start}>
              <span>
                {text.t('health.part', { from: bytes(text, start), to: bytes(text, end) })}
              </span>
              <span className={copies === 0 ? 'bad' : ''}>{text.n('health.copies', copies)}</span>
            </li>
          ))}
        </ul>
      )}
      {missingBytes > 0 ? (
        <p className="bad">{text.t('health.missing', { bytes: bytes(text, missingBytes) })}</p>
      ) : (
        <p className="quiet">{text.n('health.mayFail', mayFail)}</p>
      )}
    </>
  );
}
