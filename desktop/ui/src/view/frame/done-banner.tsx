/** The countdown before the machine sleeps or shuts down, with a way to stop it. */

import { Icon } from '@millrace/shared/ui/icons';
import { useApp, useAppState, useText } from '../common/context.tsx';
import { useNow } from '../common/now.ts';

export function DoneBanner() {
  const text = useText();
  const app = useApp();
  const what = useAppState(({ totals }) => totals?.whenDone?.what);
  const at = useAppState(({ totals }) => totals?.whenDone?.at);
  const now = useNow(1000);
  if (!what || at === undefined) return null;
  const n = Math.max(0, Math.ceil((at - now) / 1000));
  const cancel = () => app.attempt(app.call('millrace.whenDone', { what: null }));
  return (
    <div className="banner" role="alert">
      <Icon name="schedule" />
      <div>
        <strong>{text.t(`after.countdown.${what}`)}</strong>{' '}
        {/* Readers would repeat the alert with every second. */}
        <span aria-hidden="true">{text.n('after.countdown.left', n)}</span>
      </div>
      <button type="button" className="button small" onClick={() => void cancel()}>
        {text.t('word.cancel')}
      </button>
    </div>
  );
}
