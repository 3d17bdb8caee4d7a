/** A button of the tool bar; its label is hidden where there is room only for its icon. */

import { Icon, type IconName } from '@millrace/shared/ui/icons';

export function Tool({ icon, label, run }: { icon: IconName; label: string; run: () => void }) {
  return (
    <button type="button" className="button tool" onClick={run} aria-label={label} title={label}>
      <Icon name={icon} />
      <span className="tool-label">{label}</span>
    </button>
  );
}
