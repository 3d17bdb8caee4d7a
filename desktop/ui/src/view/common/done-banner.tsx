/** The countdown before the machine sleeps or shuts down, with a way to stop it, and why that failed. */

import { Icon } from '@millrace/shared/ui/icons';
import { useApp, useAppState, useText } from './context.tsx';
import { useNow } from './now.ts';

export function DoneBanner() {
  const text = useText();
  const app = useApp();
  const what = useAppState(({ totals }) => totals?.whenDone?.what);
  const at = useAppState(({ totals }) => totals?.whenDone?.at);
  const problem = useAppState(({ totals }) => totals?.whenDone?.problem);
  const now = useNow(1000);
  const stop = () => void app.attempt(app.call('millrace.whenDone', { what: null }));
  if (what && at !== undefined) {
    const n = Math.max(0, Math.ceil((at - now) / 1000));
    return (
      <div className="banner" role="alert">
        <Icon name="schedule" />
        <div>
          <strong>{text.t(`after.countdown.${what}`)}</strong>{' '}
          {/* Readers would repeat the alert with every second. */}
          <span aria-hidden="true">{text.n('after.countdown.left', n)}</span>
        </div>
        <button type="button" className="button small" onClick={stop}>
          {text.t('word.cancel')}
        </button>
      </div>
    );
  }
  if (problem === undefined) return null;
  return (
    <div className="banner" role="alert">
      <Icon name="failed" />
      <div>
        <strong>{text.t('after.stayedOn')}</strong>{' '}
        <span>{text.t('after.all.problem', { problem })}</span>
      </div>
      <button type="button" className="button small" onClick={stop}>
        {text.t('toast.dismiss')}
      </button>
    </div>
  );
}
