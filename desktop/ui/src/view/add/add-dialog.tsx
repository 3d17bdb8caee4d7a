/**
 * The dialog for adding downloads: links from any text or list, Metalink documents, torrents, exNodes,
 * and options.
 */

import type { AddManyResult, Apart, MetalinkFile } from '@millrace/shared/bridge/rpc/adding-api';
import { Lines } from '@millrace/shared/ui/fields';
import { useEffect, useMemo, useState } from 'react';
import { commonRequest, FIRST_FORM, problemsOf, requestsOf } from '../../model/adding/add-form.ts';
import { filtered, NO_FILTER, type ShownLink } from '../../model/adding/found-filter.ts';
import { type GivenFiles, withGiven } from '../../model/adding/given-files.ts';
import { leftAfter } from '../../model/adding/left-out.ts';
import type { DialogState, GivenMetalink } from '../../model/app-state.ts';
import { leadsToMetalink } from '../../model/metalinks.ts';
import { batches, MAX_TEXT_CHARS } from '../../model/text-pieces.ts';
import { hostOf } from '../../text/format.ts';
import { useActions, useApp, useAppState, useText } from '../common/context.tsx';
import { Dialog, DialogForm } from '../common/dialog.tsx';
import { FoundFile, FoundLink } from './add-found.tsx';
import { AddOptions } from './add-options.tsx';
import { PageLine, usePage } from './add-page.tsx';
import { ProbeButton, useProbe } from './add-probe.tsx';
import { FoundList } from './found-list.tsx';
import { FoundTools } from './found-tools.tsx';
import { OpenFiles } from './open-files.tsx';
import { useFound } from './use-found.ts';
import { useMagnets } from './use-magnets.ts';

/** Most links of a list without a filter. */
const FEW = 12;
/** Most downloads that one call adds. */
const BATCH = 1000;
/** Most failures that are reported one by one. */
const TOLD = 3;

interface AddProps {
  /** Text and documents that the dialog opens with; another object while it is open brings more. */
  readonly given: DialogState & { readonly kind: 'add' };
}

export function AddDialog({ given }: AddProps) {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const settings = useAppState((state) => state.settings);
  const [taken, setTaken] = useState(given);
  const [draft, setDraft] = useState<GivenFiles>({ text: given.text, metalinks: given.metalinks });
  const { text: typed, metalinks: opened } = draft;
  // Reading files takes time, in which the user goes on typing.
  const take = (more: GivenFiles) => setDraft((now) => withGiven(now, more));
  const [offered, setOffered] = useState(given.offered === true);
  if (given !== taken) {
    setTaken(given);
    take(given);
    if (given.offered) setOffered(true);
  }
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [together, setTogether] = useState(false);
  const [form, setForm] = useState({
    ...FIRST_FORM,
    edges: settings?.defaults.useEdges ?? true,
    sidecars: settings?.defaults.sidecars ?? false,
  });
  const [working, setWorking] = useState(false);
  const [done, setDone] = useState(0);
  const found = useFound(typed, setLeft);

  const [filter, setFilter] = useState(NO_FILTER);
  const [isPageType, setPageType] = useState(false);
  const reading = usePage(found.links, form, isPageType, setLeft);
  const links: readonly ShownLink[] = reading.page?.links ?? found.links;
  const pageHost = reading.page && hostOf(reading.page.url);
  // A page could have the machine ask for anything, such as the router's, with a link that it offers.
  const mayAsk = !offered && !found.reading && reading.page === undefined;
  const probing = useProbe(links, form, mayAsk, setLeft);
  const mayRead = !offered || probing.probed.size > 0;
  const magnets = useMagnets(
    typed,
    links
      .filter(({ url, metalink }) => leadsToMetalink(metalink, probing.probed.get(url)?.type))
      .flatMap(({ url }) => (mayRead ? url : [])),
  );
  const metalinks = [...opened, ...magnets.documents];
  const allProblems = [...found.problems.map((one) => text.fault(one)), ...magnets.problems];
  const probedType = probing.probed.get(found.links[0]?.url ?? '')?.type;
  useEffect(() => setPageType(probedType === 'text/html'), [probedType]);
  const hasTools = reading.page !== undefined || links.length > FEW;
  const replaced = [...magnets.replaced].join('\n');
  const shown = useMemo(() => {
    const gone = new Set(replaced.split('\n'));
    const kept = links.filter(({ url }) => !gone.has(url));
    return hasTools ? filtered(kept, filter) : kept;
  }, [links, filter, hasTools, replaced]);

  const check = (keys: readonly string[], isChecked: boolean) => {
    setLeft((now) => leftAfter(now, keys, isChecked));
    probing.choose(keys);
  };
  const toggle = (key: string) => check([key], left.has(key));
  // Links that the filter hides are not added: nobody sees whether they are checked.
  const wanted = shown.filter(({ url }) => !left.has(url));
  const described: Described[] = metalinks.flatMap((from) =>
    from.files.map((file) => ({ key: fileKey(from, file.index), file, from })),
  );
  const files = described.filter(({ key, file }) => file.usable && !left.has(key));
  // The files of a page are not sources of one file.
  const asOne = together && wanted.length > 1 && reading.page === undefined;
  const count = (asOne ? 1 : wanted.length) + files.length;
  const single = count === 1 && files.length === 0;
  const only = single ? wanted[0] : undefined;
  const problems = problemsOf(form, single);

  const submit = async () => {
    setWorking(true);
    const added = await addAll();
    setWorking(false);
    if (added === undefined) return;
    actions.open(undefined);
    if (added > 0) app.toast(text.n('toast.added', added));
  };
  const addAll = async (): Promise<number | undefined> => {
    let added = 0;
    if (wanted.length > 0) {
      const failed: AddManyResult['failed'][number][] = [];
      const renewed: string[] = [];
      const apart: Apart[] = [];
      for (const downloads of batches(requestsOf(form, wanted, asOne), BATCH)) {
        const result = await app.attempt(app.call('millrace.addMany', { downloads }));
        if (result === undefined) return added > 0 ? added : undefined;
        added += result.gids.length - result.renewed.length;
        renewed.push(...result.renewed);
        apart.push(...result.apart);
        failed.push(...result.failed);
        setDone(added + renewed.length);
      }
      if (renewed.length > 0) app.toast(text.n('toast.renewed', renewed.length));
      for (const { name } of apart.slice(0, TOLD)) app.toast(text.t('toast.apart', { name }));
      for (const error of failed.slice(0, failed.length > TOLD ? 1 : TOLD)) {
        const reason = text.why(error);
        const why = failed.length > TOLD ? text.n('add.failed', failed.length, { reason }) : reason;
        app.toast(text.t('toast.failed', { why }), { kind: 'bad' });
      }
    }
    for (const document of metalinks) {
      const wanted = document.files.filter(
        (file) => file.usable && !left.has(fileKey(document, file.index)),
      );
      if (wanted.length === 0) continue;
      const only = wanted.map(({ index }) => index);
      const { base64, exnode } = document;
      const common = commonRequest(form);
      const call =
        exnode === undefined
          ? app.call('millrace.addMetalink', { ...common, metalink: base64, only })
          : app.call('millrace.addExnode', { ...common, exnode: base64 });
      const result = await app.attempt<object>(call);
      if (result === undefined) return undefined;
      added += wanted.length;
    }
    return added;
  };

  return (
    <Dialog title={text.t('add.title')}>
      <DialogForm
        submit={
          working
            ? count > BATCH
              ? text.t('add.working.many', { done: text.number(done), n: text.number(count) })
              : text.t('add.working')
            : count === 0
              ? text.t('add.submit')
              : text.n('add.submit', count)
        }
        disabled={
          count === 0 ||
          problems.size > 0 ||
          working ||
          found.reading ||
          magnets.reading ||
          reading.running
        }
        onSubmit={() => void submit()}
      >
        <LinksField
          value={typed}
          onChange={(typed) => setDraft((now) => ({ ...now, text: typed }))}
        />
        <div className="add-line">
          <span className="note" role="status">
            {found.reading && text.n('add.reading', found.links.length)}
            {found.reading || reading.page !== undefined
              ? ''
              : found.links.length > 0
                ? text.n('add.found', found.links.length)
                : typed.trim() !== '' &&
                  found.asked &&
                  !magnets.reading &&
                  metalinks.length + allProblems.length === 0 &&
                  text.t('add.noneFound')}
            {found.truncated && ` ${text.t('add.tooMany', { n: text.number(found.links.length) })}`}
          </span>
          {found.links.length > 0 && !found.reading && <ProbeButton probing={probing} />}
          <OpenFiles onRead={take} />
        </div>
        <PageLine reading={reading} />
        {allProblems.length > 0 && (
          <ul className="add-problems" role="alert">
            {allProblems.map((why) => (
              <li key={why}>{text.t('add.notTaken', { why })}</li>
            ))}
          </ul>
        )}
        {hasTools && (
          <FoundTools
            links={links}
            shown={shown}
            filter={filter}
            onFilter={setFilter}
            onAll={(isChecked) => check(urlsOf(shown), isChecked)}
          />
        )}
        {shown.length + described.length > 0 && (
          <FoundList
            label={text.t('add.list')}
            count={shown.length + described.length}
            keyAt={(index) => shown[index]?.url ?? described[index - shown.length]?.key ?? ''}
            row={(index, tabIndex) => {
              const link = shown[index];
              if (link !== undefined) {
                return (
                  <FoundLink
                    link={link}
                    taken={!left.has(link.url)}
                    toggle={() => toggle(link.url)}
                    tabIndex={tabIndex}
                    pageHost={pageHost}
                    probed={probing.probed.get(link.url)}
                  />
                );
              }
              const { key, file, from } = described[index - shown.length] as Described;
              return (
                <FoundFile
                  file={file}
                  from={from}
                  taken={!left.has(key)}
                  toggle={() => toggle(key)}
                  tabIndex={tabIndex}
                />
              );
            }}
          />
        )}
        <AddOptions
          form={form}
          problems={problems}
          single={single}
          several={wanted.length > 1 && reading.page === undefined}
          together={together}
          onTogether={setTogether}
          suggestedName={
            only === undefined || only.exnode
              ? undefined
              : (probing.probed.get(only.url)?.name ?? only.name)
          }
          onChange={(change) => setForm((now) => ({ ...now, ...change }))}
        />
      </DialogForm>
    </Dialog>
  );
}

/** A file of a Metalink document or exNode. */
interface Described {
  readonly key: string;
  readonly file: MetalinkFile;
  readonly from: GivenMetalink;
}

const urlsOf = (links: readonly ShownLink[]) => links.map(({ url }) => url);

function fileKey(document: GivenMetalink, index: number): string {
  return `${document.name} ${index} ${document.base64.length}`;
}

function LinksField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const text = useText();
  return (
    <Lines
      className="mono"
      label={text.t('add.links')}
      rows={4}
      maxLength={MAX_TEXT_CHARS}
      placeholder={text.t('add.links.placeholder')}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.currentTarget.form?.requestSubmit();
      }}
    />
  );
}
