/** The edge's own endpoints: a flood of requests costs each process one answer. */

import { Agent } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Fetched, fetchAll } from '../../fixtures/clients/http-client.ts';
import { EdgeProcess, type EdgeStatus } from '../../fixtures/programs/processes.ts';

const WORKERS = 2;
const agents: Agent[] = [];
let edge: EdgeProcess;

beforeAll(async () => {
  edge = await EdgeProcess.start([
    ...['--allow-origin', '127.0.0.1', '--log-level', 'warn', '--workers', String(WORKERS)],
    // The status stays valid for longer than a test.
    ...['--status-age', '1h', '--own-requests', '2'],
  ]);
});
afterAll(async () => {
  for (const agent of agents) agent.destroy();
  await edge.stop();
});

/** Returns a function that asks the edge from one of several addresses. */
function asker(client: number): (path: string) => Promise<Fetched> {
  // Each request has a connection of its own, so requests come to all processes in turn.
  const agent = new Agent({ localAddress: `127.0.0.${client + 1}`, maxSockets: 20 });
  agents.push(agent);
  return (path) => fetchAll(edge.url + path, { agent });
}

test('a flood of status requests makes each process collect its figures once, and keeps no scraper out', async () => {
  const flood = asker(1);
  const answers = await Promise.all(Array.from({ length: 200 }, () => flood('/-/status')));
  const statuses = new Set(answers.map(({ status }) => status));
  expect(statuses).toEqual(new Set([200, 429]));
  const refused = answers.filter(({ status }) => status === 429);
  expect(JSON.parse(String(refused[0]?.body))).toMatchObject({ code: 'too-many-requests' });
  expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);

  const scraper = asker(2);
  const metrics = await scraper('/-/metrics');
  expect(metrics.status).toBe(200);
  const text = String(metrics.body);
  expect(text).toContain(`millrace_reports_total{what="status"} ${WORKERS}\n`);
  expect(text).toContain(`millrace_reports_total{what="metrics"} ${WORKERS}\n`);
  const counted = /millrace_admission_refusals_total\{.*ownRequests.*\} (\d+)/.exec(text)?.[1];
  expect(Number(counted)).toBe(refused.length);
  // A flooding client on this machine is still told that the edge lives.
  expect((await flood('/-/live')).status).toBe(200);
});

test('the status names the use, limits and refusals of every resource, and no client', async () => {
  const { body } = await asker(3)('/-/status');
  const { admission } = JSON.parse(String(body)) as EdgeStatus;
  expect(admission.connections).toMatchObject({ limit: 20_000, perClient: 2500 });
  expect(admission.transfers).toMatchObject({ use: 0, perClient: 256, refused: 0 });
  expect(admission.origins).toMatchObject({ limit: 1000 });
  expect(Object.keys(admission)).toEqual(
    expect.arrayContaining(['requests', 'rate', 'fetched', 'memory', 'ownRequests', 'checks']),
  );
  expect(String(body)).not.toContain('127.0.0.2');
});
