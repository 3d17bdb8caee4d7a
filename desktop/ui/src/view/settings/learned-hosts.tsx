/**
 * Limits learned from servers: how many requests at a time each server accepts. One or all can be
 * forgotten.
 */

import type { ParamsOf } from '@millrace/shared/bridge/contract/contract';
import type { LearnedHost } from '@millrace/shared/bridge/rpc/settings-api';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { useEffect, useState } from 'react';
import { dateTime } from '../../text/format.ts';
import { useApp, useText } from '../common/context.tsx';

/** Highest limit: a host with it has refused, but not because of the number of connections. */
const MANY = 32;

export function LearnedHosts() {
  const text = useText();
  const app = useApp();
  const [hosts, setHosts] = useState<readonly LearnedHost[]>([]);
  useEffect(() => {
    app.call('millrace.getLimits', {}).then(
      (learned) => setHosts(learned.hosts),
      () => undefined,
    );
  }, [app]);
  const forget = async (what: ParamsOf<'millrace.setLimits'>) => {
    const left = await app.attempt(app.call('millrace.setLimits', what));
    if (left !== undefined) setHosts(left.hosts);
  };
  return (
    <section className="learned">
      <h4>{text.t('limits.hosts')}</h4>
      <p className="note">{text.t('limits.hosts.text')}</p>
      {hosts.length === 0 ? (
        <p className="note">{text.t('limits.hosts.none')}</p>
      ) : (
        <>
          <ul className="learned-hosts">
            {[...hosts].sort(byTime).map((host) => (
              <Host
                key={host.host}
                learned={host}
                forget={() => void forget({ forgetHost: host.host })}
              />
            ))}
          </ul>
          <button
            type="button"
            className="button small start"
            onClick={() => void forget({ forgetHosts: true })}
          >
            {text.t('limits.hosts.forget')}
          </button>
        </>
      )}
    </section>
  );
}

/** Sorts the latest first. */
const byTime = (a: LearnedHost, b: LearnedHost) => b.learnedAt - a.learnedAt;

function Host({ learned, forget }: { learned: LearnedHost; forget: () => void }) {
  const text = useText();
  const { host, limit, restsUntil, learnedAt } = learned;
  const label = text.t('limits.hosts.forgetOne', { host });
  return (
    <li>
      <strong className="cut">{host}</strong>
      <span className="figures">{limit < MANY && text.n('limits.hosts.limit', limit)}</span>
      <span className="note figures">
        {restsUntil === undefined
          ? text.t('limits.hosts.since', { time: dateTime(text, learnedAt) })
          : text.t('limits.hosts.rests', { time: dateTime(text, restsUntil) })}
      </span>
      <IconButton name="close" size={14} label={label} onClick={forget} />
    </li>
  );
}
