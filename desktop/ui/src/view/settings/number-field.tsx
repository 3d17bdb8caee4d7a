/** Whole numbers among the settings. */

import { Field } from '@millrace/shared/ui/fields';

/**
 * Reads a whole number as typed.
 *
 * @param least lower end of the range, included
 * @param most upper end of the range, included
 * @returns undefined if it is not a whole number of that range
 */
export function readWhole(typed: string, least: number, most: number): number | undefined {
  const number = Number(typed);
  const isGood = typed.trim() !== '' && Number.isInteger(number);
  return isGood && number >= least && number <= most ? number : undefined;
}

interface NumberProps {
  readonly label: string;
  readonly note?: string;
  readonly problem: string | undefined;
  /** Text as typed. */
  readonly value: string;
  readonly onChange: (typed: string) => void;
}

export function NumberField({ onChange, ...field }: NumberProps) {
  return (
    <Field inputMode="numeric" {...field} onChange={(event) => onChange(event.target.value)} />
  );
}
