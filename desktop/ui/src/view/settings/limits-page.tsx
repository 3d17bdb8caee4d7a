import { Field } from '@millrace/shared/ui/fields';
import { useState } from 'react';
import { readLimit } from '../../model/adding/add-form.ts';
import { rate } from '../../text/format.ts';
import { useText } from '../common/context.tsx';
import { LearnedHosts } from './learned-hosts.tsx';
import { NumberField, readWhole } from './number-field.tsx';
import type { PageProps } from './page-props.ts';
import { SaveButton } from './save-button.tsx';

const MAX = 100;

/** Reads a count. @returns null if empty; undefined if it is not an allowed number */
function readCount(typed: string): number | null | undefined {
  return typed.trim() === '' ? null : readWhole(typed, 1, MAX);
}

export function LimitsPage({ settings, save }: PageProps) {
  const text = useText();
  const { limits } = settings;
  const [speed, setSpeed] = useState(
    limits.limit === null ? '' : rate(text, limits.limit).replace('\u00a0', ' '),
  );
  const [concurrent, setConcurrent] = useState(String(limits.concurrent));
  const [perHost, setPerHost] = useState(limits.perHost === null ? '' : String(limits.perHost));
  const limit = readLimit(speed);
  const together = readCount(concurrent);
  const each = readCount(perHost);
  const bad = limit === undefined || typeof together !== 'number' || each === undefined;
  const store = async () => {
    if (bad) return false;
    return save({ limits: { limit, concurrent: together, perHost: each } });
  };
  return (
    <>
      <p className="quiet">{text.t('limits.text')}</p>
      <Field
        label={text.t('limits.speed')}
        value={speed}
        note={text.t('limits.speed.help')}
        problem={limit === undefined ? text.t('add.rate.bad') : undefined}
        onChange={(event) => setSpeed(event.target.value)}
      />
      <div className="two">
        <NumberField
          label={text.t('limits.concurrent')}
          note={text.t('limits.concurrent.help')}
          value={concurrent}
          problem={typeof together === 'number' ? undefined : text.t('limits.number.bad')}
          onChange={setConcurrent}
        />
        <NumberField
          label={text.t('limits.perHost')}
          value={perHost}
          note={text.t('limits.perHost.help')}
          problem={each === undefined ? text.t('limits.number.bad') : undefined}
          onChange={setPerHost}
        />
      </div>
      <SaveButton disabled={bad} save={store} />
      <LearnedHosts />
    </>
  );
}
