/** Options of new downloads: folder and edges are shown at once, the rest behind a button. */

import { Field, Lines, Select, Switch } from '@millrace/shared/ui/fields';
import { Icon } from '@millrace/shared/ui/icons';
import { useState } from 'react';
import {
  type AddForm,
  type AddProblem,
  readChecksum,
  readHeaders,
  type Start,
} from '../../model/adding/add-form.ts';
import { isOwnMachine } from '../../model/shell.ts';
import { algorithmName } from '../../text/format.ts';
import { AfterFields, useAfterSettings } from '../common/after-fields.tsx';
import { useAppState, useText } from '../common/context.tsx';
import { FolderField } from '../common/folder-field.tsx';
import { ProxyField } from '../common/proxy-field.tsx';

interface OptionsProps {
  readonly form: AddForm;
  readonly problems: ReadonlySet<AddProblem>;
  /** True if one file is asked for: only then it can have a name and a checksum. */
  readonly single: boolean;
  readonly several: boolean;
  readonly together: boolean;
  readonly onTogether: (together: boolean) => void;
  readonly suggestedName: string | undefined;
  readonly onChange: (change: Partial<AddForm>) => void;
}

export function AddOptions(props: OptionsProps) {
  const { form, several, together, onTogether, single, suggestedName, onChange } = props;
  const text = useText();
  const [more, setMore] = useState(false);
  const edges = useAppState(({ settings }) => settings?.edges);
  const usable = (edges ?? []).filter(({ enabled }) => enabled).length;
  return (
    <>
      {several && (
        <Switch
          label={text.t('add.together')}
          note={text.t('add.together.help')}
          checked={together}
          onChange={onTogether}
        />
      )}
      <div className={single ? 'two' : ''}>
        <FolderField value={form.dir} onChange={(dir) => onChange({ dir })} />
        {single && (
          <Field
            label={text.t('add.name')}
            value={form.file}
            placeholder={suggestedName || text.t('add.name.auto')}
            onChange={(event) => onChange({ file: event.target.value })}
          />
        )}
      </div>
      <Switch
        label={text.t('add.edges')}
        note={usable === 0 ? text.t('add.edges.none') : text.n('add.edges.some', usable)}
        checked={form.edges && usable > 0}
        disabled={usable === 0}
        onChange={(on) => onChange({ edges: on })}
      />
      <button
        type="button"
        className={`disclosure${more ? ' open' : ''}`}
        aria-expanded={more}
        onClick={() => setMore(!more)}
      >
        <Icon name="chevron" size={14} />
        {text.t('add.more')}
      </button>
      {more && <MoreOptions {...props} />}
    </>
  );
}

function MoreOptions({ form, problems, single, onChange }: OptionsProps) {
  const text = useText();
  const digest = readChecksum(form.checksum);
  const digits = form.checksum.trim().length;
  return (
    <div className="more-options">
      <Field
        label={text.t('add.checksum')}
        value={single ? form.checksum : ''}
        disabled={!single}
        placeholder={single ? text.t('add.checksum.placeholder') : text.t('add.checksum.single')}
        problem={problems.has('checksum') ? text.t('add.checksum.bad', { n: digits }) : undefined}
        note={
          single &&
          digest &&
          text.t('add.checksum.kind', { algorithm: algorithmName(digest.algorithm) })
        }
        onChange={(event) => onChange({ checksum: event.target.value })}
      />
      <Switch
        label={text.t('add.sidecars')}
        note={text.t('add.sidecars.help')}
        checked={form.sidecars}
        onChange={(sidecars) => onChange({ sidecars })}
      />
      {single && isOwnMachine && (
        <Field
          label={text.t('add.older')}
          value={form.older}
          placeholder={text.t('add.older.placeholder')}
          note={text.t('add.older.help')}
          problem={problems.has('older') ? text.t('add.older.bad') : undefined}
          onChange={(event) => onChange({ older: event.target.value })}
        />
      )}
      <HeadersField form={form} onChange={onChange} />
      <div className="two">
        <Field
          label={text.t('add.limit')}
          value={form.limit}
          placeholder={text.t('add.limit.placeholder')}
          problem={problems.has('limit') ? text.t('add.rate.bad') : undefined}
          onChange={(event) => onChange({ limit: event.target.value })}
        />
        <StartField form={form} onChange={onChange} />
      </div>
      <div className={form.proxy.kind === 'own' ? 'two' : ''}>
        <ProxyField
          unchanged={text.t('add.proxy.default')}
          note={text.t('add.proxy.help')}
          value={form.proxy}
          onChange={(proxy) => onChange({ proxy })}
        />
      </div>
      {form.start === 'at' && (
        <Field
          label={text.t('add.start.when')}
          type="datetime-local"
          value={form.startAt}
          problem={problems.has('startAt') ? text.t('add.start.missing') : undefined}
          onChange={(event) => onChange({ startAt: event.target.value })}
        />
      )}
      <AfterPart form={form} onChange={onChange} />
    </div>
  );
}

/** Says what happens after these downloads. Pages of other machines cannot choose that. */
function AfterPart({ form, onChange }: PartProps) {
  const text = useText();
  const [settings] = useAfterSettings();
  if (settings === undefined || settings === 'refused') return null;
  return (
    <>
      <Switch
        label={text.t('after.choose')}
        note={text.t('after.choose.help')}
        checked={form.after !== undefined}
        onChange={(own) => onChange({ after: own ? {} : undefined })}
      />
      {form.after !== undefined && (
        <AfterFields
          value={form.after}
          commands={settings.commands.map(({ name }) => name)}
          hasWebhook={settings.webhook !== null}
          onChange={(after) => onChange({ after })}
        />
      )}
    </>
  );
}

interface PartProps {
  readonly form: AddForm;
  readonly onChange: (change: Partial<AddForm>) => void;
}

function HeadersField({ form, onChange }: PartProps) {
  const text = useText();
  const bad = readHeaders(form.headers);
  return (
    <Lines
      label={text.t('add.headers')}
      className="mono short"
      rows={2}
      placeholder={text.t('add.headers.placeholder')}
      value={form.headers}
      note={text.t('add.edges.help')}
      problem={typeof bad === 'number' ? text.t('add.headers.bad', { n: bad }) : undefined}
      onChange={(event) => onChange({ headers: event.target.value })}
    />
  );
}

const STARTS = ['now', 'next', 'paused', 'at'] as const;

function StartField({ form, onChange }: PartProps) {
  const text = useText();
  return (
    <Select<Start>
      label={text.t('add.start')}
      note={text.t('add.start.help')}
      options={STARTS.map((value) => ({ value, label: text.t(`add.start.${value}`) }))}
      value={form.start}
      onChange={(start) => onChange({ start })}
    />
  );
}
