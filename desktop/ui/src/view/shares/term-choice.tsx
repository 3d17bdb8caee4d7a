/** The choice of the time for which a file is stored. */

import { Choice } from '@millrace/shared/ui/fields';
import { TERMS, type Term } from '../../model/shares/shares.ts';
import { useText } from '../common/context.tsx';

interface TermChoiceProps {
  readonly term: Term;
  readonly onChange: (term: Term) => void;
}

export function TermChoice({ term, onChange }: TermChoiceProps) {
  const text = useText();
  const options = TERMS.map(([value]) => ({ value, label: text.t(`send.term.${value}`) }));
  return <Choice label={text.t('send.term')} options={options} value={term} onChange={onChange} />;
}
