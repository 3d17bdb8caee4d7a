/** The programs that find links to files. The command line sets them up, so the page only shows them. */

import type { Resolvers } from '@millrace/shared/bridge/rpc/settings-api';
import { useEffect, useState } from 'react';
import { useApp, useText } from '../common/context.tsx';

export function ResolverList() {
  const text = useText();
  const app = useApp();
  const [found, setFound] = useState<Resolvers | 'refused' | undefined>(undefined);
  useEffect(() => {
    app.call('millrace.getResolvers', {}).then(setFound, () => setFound('refused'));
  }, [app]);
  const all = found === undefined || found === 'refused' ? [] : found.resolvers;
  return (
    <section className="learned">
      <h4>{text.t('resolvers.title')}</h4>
      <p className="note">{text.t(found === 'refused' ? 'after.elsewhere' : 'resolvers.text')}</p>
      <ul className="digests">
        {all.map(({ name, args, patterns }) => (
          <li key={name}>
            <strong>{name}</strong>
            <span className="mono">{args.join(' ')}</span>
            <span className="note">
              {patterns.length === 0 ? text.t('resolvers.named') : patterns.join(', ')}
            </span>
          </li>
        ))}
      </ul>
      {found !== undefined && found !== 'refused' && all.length === 0 && (
        <p className="note">{text.t('resolvers.none')}</p>
      )}
      {found !== 'refused' && (
        <p className="mono">millrace resolvers set yt-dlp --for example.org</p>
      )}
    </section>
  );
}
