/** The chart with which operators run edges in Kubernetes: rendered, and checked against schemas. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { temporaryFolder } from '../../fixtures/programs/processes.ts';
import { DEPLOY, ROOT } from '../../fixtures/tools/repository.ts';
import { run, toolOrComplain, withTool } from '../../fixtures/tools/with-tool.ts';

const CHART = join(DEPLOY, 'helm/millrace-edge');
const KUBERNETES = '1.34.0';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

/** Lists the options that the edge's help names. */
async function knownOptions(): Promise<Set<string>> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(ROOT, 'edge/src/main.ts'),
    '--help',
  ]);
  return new Set([...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, name = '']) => name));
}

/** Sets of values that together use all of the chart. */
const VALUES: Readonly<Record<string, object>> = {
  plain: { allowOrigins: ['downloads.example.com', '*.example.org'] },
  everything: {
    allowOrigins: ['*'],
    replicas: 5,
    networkSecret: { existing: 'network' },
    adminToken: { existing: 'admin' },
    tls: { secret: 'certificate', plain: 'redirect' },
    publicUrl: 'https://$(POD_NAME).edges.example.net',
    service: { type: 'LoadBalancer', annotations: { a: 'b' } },
    dns: {
      zone: 'cdn.example.net',
      servers: ['ns1.example.net', 'ns.cdn.example.net=192.0.2.1'],
      service: { annotations: { a: 'b' } },
    },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
    persistence: { storageClass: 'fast' },
    tolerations: [{ key: 'edge', operator: 'Exists' }],
    nodeSelector: { disk: 'nvme' },
    settings: { 'client-rate': '20MiB/s', workers: 4 },
  },
  presets: { presets: ['debian', 'pypi'] },
  'memory only': { allowOrigins: ['*'], persistence: { enabled: false }, spread: false },
};

describe('Helm chart', () => {
  async function render(helm: string, values: object) {
    const child = spawn(helm, [CHART, 'release'], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(JSON.stringify(values));
    let [output, errors] = ['', ''];
    child.stdout.on('data', (data) => {
      output += data;
    });
    child.stderr.on('data', (data) => {
      errors += data;
    });
    const [status] = await once(child, 'close');
    return { status: status as number, output, errors };
  }

  withTool(
    'helm-template',
    'renders to what Kubernetes knows, with options that the edge knows',
    async (helm) => {
      const options = await knownOptions();
      expect(options.size).toBeGreaterThan(20);
      const validator = await toolOrComplain('kubernetes-validate');
      for (const [name, values] of Object.entries(VALUES)) {
        const { status, output, errors } = await render(helm, values);
        expect([name, status, errors]).toEqual([name, 0, '']);
        const used = [...output.matchAll(/^ +- (--[a-z-]+)=/gm)].map(([, option = '']) => option);
        expect(used.length).toBeGreaterThan(5);
        expect(used.filter((option) => !options.has(option))).toEqual([]);
        if (validator === undefined) continue;
        // These kinds belong to the Prometheus operator, not to Kubernetes itself.
        const own = output
          .split(/^---$/m)
          .filter((document) => !/kind: (ServiceMonitor|PrometheusRule)/.test(document));
        const file = join(folder.path, 'rendered.yaml');
        await writeFile(file, own.join('---'));
        const checked = await run(validator, ['-k', KUBERNETES, '--strict', file]);
        expect([name, checked.status, checked.status === 0 ? '' : checked.output]).toEqual([
          name,
          0,
          '',
        ]);
      }
    },
  );

  withTool('helm-template', 'has alerts that Prometheus understands', async (helm) => {
    const { output } = await render(helm, VALUES.everything as object);
    const rule = output.split(/^---$/m).find((document) => /kind: PrometheusRule/.test(document));
    const [head, spec = ''] = rule?.split('\nspec:\n') ?? [];
    expect(head).toMatch(/name: release\n(?:.*\n)*? {4}release: prometheus$/);
    const promtool = await toolOrComplain('promtool');
    if (promtool === undefined) return;
    const file = join(folder.path, 'rules.yml');
    await writeFile(file, spec.replaceAll(/^ {2}/gm, ''));
    expect((await readFile(file, 'utf8')).trim()).toBe(
      (await readFile(join(DEPLOY, 'prometheus/alerts.yml'), 'utf8')).trim(),
    );
    const checked = await run(promtool, ['check', 'rules', file]);
    expect([checked.status, checked.status === 0 ? '' : checked.output]).toEqual([0, '']);
  });

  withTool(
    'helm-template',
    'a pod that ends has time for its pause and its transfers',
    async (helm) => {
      const values = { allowOrigins: ['*'], graceSeconds: 300, pauseSeconds: 20 };
      const { output } = await render(helm, values);
      const period = Number(/terminationGracePeriodSeconds: (\d+)/.exec(output)?.[1]);
      expect(period).toBeGreaterThan(300 + 20);
      expect(output).toMatch(/--grace=300s/);
      expect(output).toMatch(/path: \/-\/ready/);
    },
  );

  withTool(
    'helm-template',
    'has port 53 for a zone, by UDP and TCP, and else none',
    async (helm) => {
      const { output } = await render(helm, VALUES.everything as object);
      const service = output
        .split(/^---$/m)
        .find((document) => /name: release-dns$/m.test(document));
      const ports = [
        ...(service ?? '').matchAll(/port: 53\n(?: +protocol: (UDP)\n)? +targetPort: (.+)/g),
      ];
      expect(ports.map(([, protocol, to]) => [protocol, to])).toEqual([
        ...[
          ['UDP', 'dns-udp'],
          [undefined, 'dns-tcp'],
        ],
      ]);
      expect(output).toMatch(/name: dns-udp\n +containerPort: 5353\n +protocol: UDP\n/);
      expect(output).toMatch(/name: dns-tcp\n +containerPort: 5353\n/);
      expect(output).toMatch(/--dns-port=5353/);
      // Resolvers know the pod's address for a while.
      expect(output).toMatch(/--leave-time=60s/);
      const period = Number(/terminationGracePeriodSeconds: (\d+)/.exec(output)?.[1]);
      expect(period).toBeGreaterThan(60 + 60);
      const plain = await render(helm, VALUES.plain as object);
      expect(plain.output).not.toMatch(/--dns|-dns$|--leave-time=|protocol: UDP/m);
    },
  );

  withTool(
    'helm-template',
    'refuses values that it does not know, and those that make no sense',
    async (helm) => {
      const wrong: [object, RegExp][] = [
        [{}, /allowOrigins/],
        [{ allowOrigins: [] }, /allowOrigins/],
        [{ allowOrigins: ['*'], replica: 3 }, /replica/],
        [{ allowOrigins: ['*'], replicas: 0 }, /replicas/],
        [{ allowOrigins: ['*'], persistence: { size: 'large' } }, /size/],
        [{ allowOrigins: ['*'], publicUrl: 'edge.example' }, /publicUrl/],
        [{ allowOrigins: ['*'], tls: { secret: 'a', plain: 'redirect' } }, /publicUrl/],
        [{ allowOrigins: ['*'], dns: { zone: 'a..b' } }, /zone/],
        [{ allowOrigins: ['*'], dns: { zone: 'cdn.example.net' } }, /dns.servers/],
        [
          { allowOrigins: ['*'], dns: { zone: 'cdn.example.net', servers: ['ns.example.net'] } },
          /publicUrl/,
        ],
      ];
      for (const [values, message] of wrong) {
        const { status, errors } = await render(helm, values);
        expect([values, status]).toEqual([values, 1]);
        expect(errors).toMatch(message);
      }
    },
  );
});
