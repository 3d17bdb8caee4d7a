import { expect, test } from '@jest/globals';
import { ManagerStage } from './manager-stage.ts';

test('`settled` does not wait for a download that a closed manager will never start', async () => {
  const stage = new ManagerStage();
  const gid = await stage.add();
  await stage.shut();
  expect(stage.manager.queue.active).toMatchObject([{ gid }]);
  await stage.settled();
  stage.open();
  await stage.clear();
});
