import type { EdgeEntry, EdgeTest } from '@millrace/shared/bridge/rpc/edge-api';
import { Switch } from '@millrace/shared/ui/fields';
import { IconButton } from '@millrace/shared/ui/icon-button';
import { type FormEvent, useCallback, useEffect, useState } from 'react';
import { hostOf } from '../../../text/format.ts';
import { useApp, useText } from '../../common/context.tsx';
import type { PageProps } from '../page-props.ts';
import { HouseEdges } from './house-edges.tsx';

export function EdgesPage({ settings, save }: PageProps) {
  const text = useText();
  const app = useApp();
  const [url, setUrl] = useState('');
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (url.trim() === '') return;
    const added = await app.attempt(app.call('millrace.addEdge', { url: url.trim() }));
    if (added === undefined) return;
    app.applyPart({ edges: added.edges });
    setUrl('');
  };
  return (
    <>
      <p className="quiet">{text.t('edges.text')}</p>
      <form className="field-row" onSubmit={(event) => void add(event)} noValidate>
        <input
          className="input"
          aria-label={text.t('edges.address')}
          placeholder={text.t('edges.placeholder')}
          value={url}
          spellCheck={false}
          onChange={(event) => setUrl(event.target.value)}
        />
        <button type="submit" className="button primary" disabled={url.trim() === ''}>
          {text.t('edges.add')}
        </button>
      </form>
      {settings.edges.length === 0 ? (
        <p className="note">{text.t('edges.empty')}</p>
      ) : (
        <ul className="edges">
          {settings.edges.map((edge) => (
            <Edge key={edge.url} edge={edge} onEdges={(edges) => app.applyPart({ edges })} />
          ))}
        </ul>
      )}
      <Switch
        label={text.t('edges.default')}
        note={text.t('edges.default.help')}
        checked={settings.defaults.useEdges}
        onChange={(useEdges) => void save({ defaults: { useEdges } })}
      />
      <Switch
        label={text.t('house.use')}
        note={text.t('house.help')}
        checked={settings.house}
        onChange={(house) => void save({ house })}
      />
      {settings.house && (
        <HouseEdges known={settings.edges} onAdd={(edges) => app.applyPart({ edges })} />
      )}
    </>
  );
}

interface EdgeProps {
  readonly edge: EdgeEntry;
  readonly onEdges: (edges: readonly EdgeEntry[]) => void;
}

function Edge({ edge, onEdges }: EdgeProps) {
  const text = useText();
  const app = useApp();
  const { url, name, enabled, local } = edge;
  const [result, setResult] = useState<EdgeTest | 'testing' | undefined>(undefined);
  const test = useCallback(async () => {
    setResult('testing');
    setResult(await app.call('millrace.testEdge', { url }).catch(() => undefined));
  }, [app, url]);
  // Edges are tested when the page opens.
  useEffect(() => void test(), [test]);
  const change = async (call: Promise<{ readonly edges: readonly EdgeEntry[] }>) => {
    const changed = await app.attempt(call);
    if (changed !== undefined) onEdges(changed.edges);
  };
  const title = name === '' ? hostOf(url) : name;
  return (
    <li>
      <input
        type="checkbox"
        checked={enabled}
        aria-label={title}
        onChange={() => void change(app.call('millrace.changeEdge', { url, enabled: !enabled }))}
      />
      <div className="edge-name">
        <strong className="cut">{title}</strong>
        <span className="note cut">{local ? text.t('edges.local') : url.replace(/\/$/, '')}</span>
      </div>
      <TestResult result={result} />
      <button type="button" className="button small" onClick={() => void test()}>
        {text.t('edges.test')}
      </button>
      {local ? (
        <span />
      ) : (
        <IconButton
          name="close"
          size={14}
          label={text.t('edges.remove', { name: title })}
          onClick={() => void change(app.call('millrace.removeEdge', { url }))}
        />
      )}
    </li>
  );
}

function TestResult({ result }: { result: EdgeTest | 'testing' | undefined }) {
  const text = useText();
  if (result === undefined) return <span className="edge-test" role="status" />;
  if (result === 'testing') {
    return (
      <span className="note edge-test" role="status">
        {text.t('edges.testing')}
      </span>
    );
  }
  const { ok, rttMs = 0, nodes, problem } = result;
  if (!ok) {
    return (
      <span className="note bad edge-test" role="status">
        {problem === 'not-an-edge' ? text.t('edges.other') : text.t('edges.bad')}
      </span>
    );
  }
  const names = nodes.map((node) => node.name).join(', ');
  return (
    <span className="note edge-test figures" role="status" title={names}>
      <i className="dot good" />
      {text.t('edges.ok', { ms: text.number(rttMs, rttMs < 10 ? 1 : 0) })}
      {nodes.length > 1 && `, ${text.n('edges.nodes', nodes.length)}`}
    </span>
  );
}
