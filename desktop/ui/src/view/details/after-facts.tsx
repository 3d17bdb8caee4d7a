/** The actions after a download, and how they went. */

import type { AfterStep } from '@millrace/shared/bridge/rpc/settings-api';
import { Icon, type IconName } from '@millrace/shared/ui/icons';
import type { Text } from '../../text/text.ts';
import { useText } from '../common/context.tsx';

const ICONS: Readonly<Record<AfterStep['state'], IconName>> = {
  waiting: 'queued',
  running: 'active',
  done: 'done',
  failed: 'failed',
  skipped: 'queued',
  interrupted: 'failed',
};
const STATES: Readonly<Record<AfterStep['state'], string>> = {
  waiting: '',
  running: '',
  done: 'verified',
  failed: 'mismatch',
  skipped: '',
  interrupted: 'mismatch',
};

export function AfterFacts({ steps }: { steps: readonly AfterStep[] }) {
  const text = useText();
  return (
    <section>
      <h3>{text.t('after.title')}</h3>
      <ul className="digests">
        {steps.map(({ action, state, with: value, ...why }) => (
          <li key={action}>
            <span className={`digest-state ${STATES[state]}`}>
              <Icon name={ICONS[state]} size={14} />
              <strong>{text.t(`after.did.${action}`)}</strong>
              <span className="note">
                {[text.t(`after.state.${state}`), action === 'run' ? value : undefined]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
            </span>
            {why.detail !== undefined && (
              <span className="mono after-detail">{reasonOf(text, why)}</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Returns the reason in the reader's language; paths and words of other programs as they are. */
function reasonOf(
  text: Text,
  { detail = '', particulars, error }: Pick<AfterStep, 'detail' | 'particulars' | 'error'>,
): string {
  if (particulars === undefined) return detail;
  return error === undefined
    ? text.detail({ detail, particulars })
    : text.why({ code: error, message: detail, detail, particulars });
}
