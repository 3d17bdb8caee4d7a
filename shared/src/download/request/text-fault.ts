/** Says why a part of a typed text is not taken. */

import { fill } from '../../base/error-table/fill.ts';
import { TEXT_FAULTS, type TextFaultCode } from '../../base/error-table/text-faults.ts';
import { MillraceError } from '../../base/errors.ts';

type TextFaultValues = Readonly<Record<string, string | number>>;

/** Longest value of a sentence, in characters: words of a text may be as long as it. */
const MAX_VALUE_CHARS = 60;

/** An error `bad-option`, whose detail is a sentence of the table. */
export class TextFault extends MillraceError {
  readonly fault: TextFaultCode;
  readonly values: TextFaultValues;

  /** @param values for the placeholders of the sentence; nothing of a field's or log-in's value */
  constructor(fault: TextFaultCode, values: TextFaultValues = {}) {
    const short = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, shortened(value)]),
    );
    super('bad-option', fill(TEXT_FAULTS[fault], short));
    this.fault = fault;
    this.values = short;
  }
}

function shortened(value: string | number): string | number {
  if (typeof value === 'number' || value.length <= MAX_VALUE_CHARS) return value;
  // Half a character at the cut would be shown as a broken one.
  return `${value.slice(0, MAX_VALUE_CHARS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
