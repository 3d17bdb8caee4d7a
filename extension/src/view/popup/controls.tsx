/** The switches of the popup, and the present taker. */

import { Switch } from '@millrace/shared/ui/fields';
import { Icon } from '@millrace/shared/ui/icons';
import type { PopupState } from '../../contract/messages.ts';
import { useText } from '../common/context.tsx';
import type { PopupModel } from './popup-model.ts';

interface ControlsProps {
  readonly model: PopupModel;
  readonly state: PopupState;
}

export function Switches({ model, state: { on, host, skipNext } }: ControlsProps) {
  const text = useText();
  return (
    <div className="switches">
      <Switch
        label={text.t('popup.switchAll')}
        checked={on}
        onChange={(wanted) => void model.switchAll(wanted)}
      />
      {on && host !== undefined && (
        <Switch
          label={
            <span className="cut host">{text.t('popup.switchHost', { host: host.name })}</span>
          }
          checked={!host.off}
          onChange={(wanted) => void model.switchHost(host.name, !wanted)}
        />
      )}
      {on && (
        <button
          type="button"
          className={`button small skip${skipNext ? ' on' : ''}`}
          aria-pressed={skipNext}
          onClick={() => void model.skipNext(!skipNext)}
        >
          {skipNext && <Icon name="check" size={14} />}
          {text.t(skipNext ? 'popup.skipNext.on' : 'popup.skipNext')}
        </button>
      )}
    </div>
  );
}

interface TakerLineProps {
  readonly state: PopupState;
  readonly setUp: () => void;
}

export function TakerLine({ state, setUp }: TakerLineProps) {
  const text = useText();
  const { on, taker, desktopProblem, remoteProblem } = state;
  const problem =
    remoteProblem === undefined ? desktopProblem : text.t(`remote.problem.${remoteProblem}`);
  const isMissing = on && taker !== 'desktop' && problem !== undefined;
  const look = !on ? 'off' : taker === undefined ? 'nobody' : 'good';
  return (
    <div className={`taker ${look}`} role="status">
      <i aria-hidden="true" />
      <span className="taker-words">
        <span>{on ? text.t(`popup.taker.${taker ?? 'nobody'}`) : text.t('popup.off')}</span>
        {isMissing && <span className="note">{problem}</span>}
      </span>
      {isMissing && (
        <button type="button" className="text-button" onClick={setUp}>
          {text.t('popup.taker.fix')}
        </button>
      )}
    </div>
  );
}
