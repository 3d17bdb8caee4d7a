/** The banner while the daemon does not answer; it shows when the next attempt is. */

import { Icon } from '@millrace/shared/ui/icons';
import { useApp, useAppState, useText } from '../common/context.tsx';
import { useNow } from '../common/now.ts';

export function LinkBanner() {
  const text = useText();
  const app = useApp();
  const link = useAppState((state) => state.link);
  const now = useNow(1000);
  if (link.kind !== 'lost') return null;
  const seconds = Math.ceil((link.retryAt - now) / 1000);
  return (
    <div className="banner" role="alert">
      <Icon name="offline" />
      <div>
        <strong>
          {seconds > 1 ? text.t('link.lost.in', { n: seconds }) : text.t('link.lost')}
        </strong>{' '}
        <span>{text.t('link.lost.help')}</span>
      </div>
      <button type="button" className="button small" onClick={() => app.connection.connect()}>
        {text.t('link.now')}
      </button>
    </div>
  );
}
