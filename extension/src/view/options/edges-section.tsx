/** The list of edges, each with the sites whose files may go through it. */

import { Field, Switch } from '@millrace/shared/ui/fields';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { Icon } from '@millrace/shared/ui/icons';
import { type FormEvent, useId, useRef, useState } from 'react';
import type { Settings } from '../../contract/settings.ts';
import { useText } from '../common/context.tsx';
import { useDraft } from './draft.ts';
import { readEdgeHosts, readEdgeUrl } from './read.ts';
import { Section, type SectionProps } from './section.tsx';

type Edge = Settings['edges'][number];

const inLine = (list: readonly string[]) => list.join(', ');

export function EdgesSection({ settings, save }: SectionProps) {
  const text = useText();
  const { edges, publisherEdges } = settings;
  return (
    <Section name="edges">
      <p className="quiet">{text.t('edges.text')}</p>
      <Switch
        label={text.t('edges.publisher')}
        note={text.t('edges.publisher.help')}
        checked={publisherEdges}
        onChange={(on) => save({ publisherEdges: on })}
      />
      {edges.length === 0 ? (
        <p className="note">{text.t('edges.empty')}</p>
      ) : (
        <ul className="edges">
          {edges.map((edge) => (
            <EdgeRow
              key={edge.url}
              edge={edge}
              change={(hosts) =>
                save({
                  edges: edges.map((one) => (one.url === edge.url ? { ...one, hosts } : one)),
                })
              }
              remove={() => save({ edges: edges.filter((one) => one.url !== edge.url) })}
            />
          ))}
        </ul>
      )}
      <NewEdge edges={edges} add={(edge) => save({ edges: [...edges, edge] })} />
    </Section>
  );
}

interface EdgeRowProps {
  readonly edge: Edge;
  readonly change: (hosts: string[]) => void;
  readonly remove: () => void;
}

function EdgeRow({ edge, change, remove }: EdgeRowProps) {
  const text = useText();
  const id = useId();
  const hosts = useDraft(
    inLine(edge.hosts),
    (typed) => readEdgeHosts(text, typed),
    inLine,
    (value) => change([...value]),
  );
  const { problem, ...input } = hosts;
  return (
    <li>
      <Icon name="edge" />
      <span className="edge">
        <strong className="cut" title={edge.url}>
          {edge.url}
        </strong>
        <input
          className="input"
          spellCheck={false}
          autoComplete="off"
          aria-label={`${text.t('edges.hosts')}: ${edge.url}`}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : id}
          {...input}
        />
        {problem !== undefined && (
          <span id={id} className="note bad" role="alert">
            {problem}
          </span>
        )}
      </span>
      <IconButton
        name="remove"
        label={text.t('edges.remove', { url: edge.url })}
        onClick={remove}
      />
    </li>
  );
}

interface NewEdgeProps {
  readonly edges: readonly Edge[];
  readonly add: (edge: Edge) => void;
}

/** Fields for a new edge. Mistakes show only after the user has tried to add it. */
function NewEdge({ edges, add }: NewEdgeProps) {
  const text = useText();
  const first = useRef<HTMLFormElement>(null);
  const [typed, setTyped] = useState({ url: '', hosts: '' });
  const [tried, setTried] = useState(false);
  const url = readEdgeUrl(text, typed.url, [...edges]);
  const hosts = readEdgeHosts(text, typed.hosts);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (url.problem !== undefined || hosts.problem !== undefined) {
      setTried(true);
      const field = url.problem === undefined ? 1 : 0;
      first.current?.querySelectorAll('input')[field]?.focus();
      return;
    }
    add({ url: url.value, hosts: [...hosts.value] });
    setTyped({ url: '', hosts: '' });
    setTried(false);
  };
  return (
    <form ref={first} className="new-edge" onSubmit={submit} noValidate>
      <Field
        label={text.t('edges.url')}
        type="url"
        placeholder={text.t('edges.url.placeholder')}
        value={typed.url}
        problem={tried ? url.problem : undefined}
        onChange={({ target }) => setTyped({ ...typed, url: target.value })}
      />
      <Field
        label={text.t('edges.hosts')}
        placeholder={text.t('edges.hosts.placeholder')}
        value={typed.hosts}
        problem={tried ? hosts.problem : undefined}
        onChange={({ target }) => setTyped({ ...typed, hosts: target.value })}
      />
      <button type="submit" className="button">
        <Icon name="add" size={14} />
        {text.t('edges.add')}
      </button>
    </form>
  );
}
