/** The choice of the downloads to take, by size, types and sites. */

import { Field, Lines, Switch } from '@millrace/shared/ui/fields';
import { useText } from '../common/context.tsx';
import { useDraft } from './draft.ts';
import { readHosts, readSize, readTypes, writeSize } from './read.ts';
import { Section, type SectionProps } from './section.tsx';

const inLine = (list: readonly string[]) => list.join(', ');
const inLines = (list: readonly string[]) => list.join('\n');

export function TakingSection({ settings, save }: SectionProps) {
  const text = useText();
  const { minBytes, alwaysTypes, neverTypes } = settings;
  const size = useDraft(
    writeSize(minBytes),
    (typed) => readSize(text, typed),
    writeSize,
    (value) => save({ minBytes: value }),
  );
  const always = useDraft(
    inLine(alwaysTypes),
    (typed) => readTypes(text, typed, neverTypes),
    inLine,
    (value) => save({ alwaysTypes: [...value] }),
  );
  const never = useDraft(
    inLine(neverTypes),
    (typed) => readTypes(text, typed, alwaysTypes),
    inLine,
    (value) => save({ neverTypes: [...value] }),
  );
  return (
    <Section name="taking">
      <p className="quiet">{text.t('taking.text')}</p>
      <Switch
        label={text.t('taking.on')}
        note={text.t('taking.on.help')}
        checked={settings.on}
        onChange={(on) => save({ on })}
      />
      <Switch
        label={text.t('taking.insecure')}
        note={text.t('taking.insecure.help')}
        checked={settings.takeInsecure}
        onChange={(takeInsecure) => save({ takeInsecure })}
      />
      <div className="short">
        <Field label={text.t('taking.size')} note={text.t('taking.size.help')} {...size} />
      </div>
      <div className="two">
        <Field label={text.t('taking.always')} note={text.t('taking.always.help')} {...always} />
        <Field label={text.t('taking.never')} note={text.t('taking.never.help')} {...never} />
      </div>
    </Section>
  );
}

export function HostsSection({ settings, save }: SectionProps) {
  const text = useText();
  const { offHosts, onlyHosts } = settings;
  const off = useDraft(
    inLines(offHosts),
    (typed) => readHosts(text, typed, onlyHosts),
    inLines,
    (value) => save({ offHosts: [...value] }),
  );
  const only = useDraft(
    inLines(onlyHosts),
    (typed) => readHosts(text, typed, offHosts),
    inLines,
    (value) => save({ onlyHosts: [...value] }),
  );
  return (
    <Section name="hosts">
      <p className="quiet">{text.t('hosts.text')}</p>
      <div className="two">
        <Lines label={text.t('hosts.off')} note={text.t('hosts.off.help')} rows={4} {...off} />
        <Lines label={text.t('hosts.only')} note={text.t('hosts.only.help')} rows={4} {...only} />
      </div>
    </Section>
  );
}
