import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ManagerStage, MINUTE } from '../../testing/manager-stage.ts';

let stage: ManagerStage;
beforeEach(() => {
  stage = new ManagerStage();
});
afterEach(() => stage.clear());

/** Completes the last download, which has no actions of its own. */
async function complete(): Promise<void> {
  await writeFile(stage.last().path, 'the file');
  await stage.last().complete();
}

describe('when all is done', () => {
  test('the machine sleeps after a countdown, once, and not while anything is left to do', async () => {
    stage.manager.whenDone.set('sleep');
    await stage.later(10 * MINUTE);
    expect(stage.power).toEqual([]);
    await stage.add({ after: {} });
    stage.last().begin();
    await complete();
    expect(stage.manager.whenDone.view).toEqual({ what: 'sleep', at: stage.now + MINUTE });
    await stage.add({ after: {} });
    expect(stage.manager.whenDone.view).toEqual({ what: 'sleep' });
    await stage.later(10 * MINUTE);
    expect(stage.power).toEqual([]);
    await complete();
    await stage.later(MINUTE);
    expect(stage.power).toEqual([['systemctl', 'suspend']]);
    expect(stage.manager.whenDone.view).toEqual({ what: null });
  });

  test('pausing or removing the last download begins no countdown: the user is there', async () => {
    stage.manager.whenDone.set('shutdown');
    const paused = await stage.add({ after: {} });
    stage.last().begin();
    stage.manager.line.pause(paused);
    await stage.later(10 * MINUTE);
    expect(stage.manager.whenDone.view).toEqual({ what: 'shutdown' });
    const removed = await stage.add({ after: {} });
    await stage.manager.remover.remove({
      ...{ gids: [removed], forget: true, now: false },
      ...{ deletePartial: true, deleteFile: false },
    });
    await stage.later(10 * MINUTE);
    expect([stage.manager.whenDone.view, stage.power]).toEqual([{ what: 'shutdown' }, []]);
    stage.manager.line.resume(paused);
    await complete();
    expect(stage.manager.whenDone.view.at).toBe(stage.now + MINUTE);
  });

  test('a file that is sent holds the machine awake', async () => {
    let changed: (id: string) => void = () => {};
    const sends = {
      busy: true,
      listen: (listener: typeof changed) => {
        changed = listener;
      },
      endedByHand: (id: string) => id === 'paused',
    };
    stage.manager.whenDone.alsoAwait(sends);
    stage.manager.whenDone.set('shutdown');
    await stage.add({ after: {} });
    await complete();
    expect(stage.manager.whenDone.view).toEqual({ what: 'shutdown' });
    sends.busy = false;
    changed('paused');
    expect(stage.manager.whenDone.view).toEqual({ what: 'shutdown' });
    sends.busy = true;
    changed('sent');
    sends.busy = false;
    changed('sent');
    expect(stage.manager.whenDone.view.at).toBe(stage.now + MINUTE);
  });

  test('a countdown that the machine has slept through begins anew', async () => {
    stage.manager.whenDone.set('sleep');
    await stage.add({ after: {} });
    await complete();
    await stage.later(8 * 60 * MINUTE);
    expect([stage.manager.whenDone.view.at, stage.power]).toEqual([stage.now + MINUTE, []]);
    await stage.later(MINUTE);
    expect(stage.power).toEqual([['systemctl', 'suspend']]);
  });

  test('a countdown can be cancelled, and another run of the daemon knows nothing of it', async () => {
    stage.manager.whenDone.set('shutdown');
    await stage.add({ after: {} });
    await complete();
    expect(stage.manager.whenDone.view.at).toBe(stage.now + MINUTE);
    stage.manager.whenDone.set(null);
    await stage.later(2 * MINUTE);
    stage.manager.whenDone.set('shutdown');
    await stage.shut();
    stage.open();
    expect(stage.manager.whenDone.view).toEqual({ what: null });
    await stage.add({ after: {} });
    await complete();
    await stage.later(2 * MINUTE);
    expect(stage.power).toEqual([]);
  });
});
