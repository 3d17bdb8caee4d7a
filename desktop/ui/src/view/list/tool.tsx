/** A button of the tool bar: its words give way to its sign where there is no room. */

import { Icon, type IconName } from '@millrace/shared/ui/icons';

export function Tool({ icon, label, run }: { icon: IconName; label: string; run: () => void }) {
  return (
    <button type="button" className="button tool" onClick={run} aria-label={label} title={label}>
      <Icon name={icon} />
      <span className="tool-label">{label}</span>
    </button>
  );
}
