/** The choice of the taker, and help if the desktop app is not available. */

import { INSTALL_PAGE } from '@millrace/shared/base/web-pages';
import { Choice } from '@millrace/shared/ui/fields';
import { Icon } from '@millrace/shared/ui/icons';
import type { PopupState } from '../../contract/messages.ts';
import type { Settings } from '../../contract/settings.ts';
import { useText } from '../common/context.tsx';
import { Section, type SectionProps } from './section.tsx';

const TAKERS = ['auto', 'desktop', 'browser', 'remote'] as const;

interface TakerProps extends SectionProps {
  /** State of the takers; undefined while the background is asked. */
  readonly state: PopupState | undefined;
  /** Whether a daemon on another machine is paired. */
  readonly isPaired: boolean;
  readonly check: () => void;
}

export function TakerSection({ settings, save, state, isPaired, check }: TakerProps) {
  const text = useText();
  const offered = TAKERS.filter(
    (value) => value !== 'remote' || isPaired || settings.taker === 'remote',
  );
  return (
    <Section name="taker">
      <Choice
        label={text.t('taker.label')}
        note={text.t(`taker.${settings.taker}.help`)}
        options={offered.map((value) => ({ value, label: text.t(`taker.${value}`) }))}
        value={settings.taker}
        onChange={(taker) => save({ taker })}
      />
      <Desktop wanted={settings.taker} state={state} check={check} />
    </Section>
  );
}

interface DesktopProps {
  readonly wanted: Settings['taker'];
  readonly state: PopupState | undefined;
  readonly check: () => void;
}

function Desktop({ wanted, state, check }: DesktopProps) {
  const text = useText();
  const look = lookOf(wanted, state);
  const words = {
    checking: text.t('taker.state.checking'),
    unused: text.t(wanted === 'remote' ? 'taker.state.elsewhere' : 'taker.state.unused'),
    good: text.t('taker.state.good'),
    missing: state?.desktopProblem ?? '',
  };
  return (
    <div className={`desktop-state ${look}`} role="status">
      <span className="desktop-line">
        <Icon name={look === 'good' ? 'done' : look === 'missing' ? 'failed' : 'queued'} />
        <span>
          <strong>{text.t('taker.state')}</strong>
          <span>{words[look]}</span>
        </span>
      </span>
      {look === 'missing' && <Repair check={check} />}
    </div>
  );
}

function lookOf(
  wanted: Settings['taker'],
  state: PopupState | undefined,
): 'checking' | 'unused' | 'good' | 'missing' {
  if (wanted === 'browser' || wanted === 'remote') return 'unused';
  if (state === undefined) return 'checking';
  return state.desktopProblem === undefined ? 'good' : 'missing';
}

function Repair({ check }: { check: () => void }) {
  const text = useText();
  return (
    <div className="repair">
      <p>{text.t('taker.state.fix')}</p>
      <span className="buttons">
        <a className="button small primary" href={INSTALL_PAGE} target="_blank" rel="noreferrer">
          <Icon name="down" size={14} />
          {text.t('taker.state.get')}
        </a>
        <button type="button" className="button small" onClick={check}>
          <Icon name="retry" size={14} />
          {text.t('taker.state.check')}
        </button>
      </span>
    </div>
  );
}
