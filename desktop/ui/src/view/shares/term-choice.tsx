/** The choice of the time for which a file is stored. */

import { Choice } from '@millrace/shared/ui/fields';
import type { Term } from '../../model/shares/shares.ts';
import { useText } from '../common/context.tsx';

interface TermChoiceProps {
  readonly term: Term;
  /** Terms that are offered. */
  readonly terms: readonly Term[];
  readonly onChange: (term: Term) => void;
}

export function TermChoice({ term, terms, onChange }: TermChoiceProps) {
  const text = useText();
  const options = terms.map((value) => ({ value, label: text.t(`send.term.${value}`) }));
  return <Choice label={text.t('send.term')} options={options} value={term} onChange={onChange} />;
}
