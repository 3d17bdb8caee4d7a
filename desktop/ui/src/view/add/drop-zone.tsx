/** Takes links, Metalink files, torrents and exNodes that are dropped anywhere, or pasted where nothing is typed. */

import { Icon } from '@millrace/shared/ui/icons';
import { useEffect, useState } from 'react';
import { readGivenFiles } from '../../model/adding/given-files.ts';
import { isDescription } from '../../model/shares/shares.ts';
import { useActions, useApp, useText } from '../common/context.tsx';

export function DropZone() {
  const text = useText();
  const app = useApp();
  const actions = useActions();
  const [over, setOver] = useState(false);

  useEffect(() => {
    const hasGift = ({ dataTransfer }: DragEvent) =>
      dataTransfer?.types.some((type) => ['Files', 'text/uri-list', 'text/plain'].includes(type)) ??
      false;
    const onOver = (event: DragEvent) => {
      if (!hasGift(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const onLeave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const onDrop = (event: DragEvent) => {
      setOver(false);
      if (!hasGift(event)) return;
      event.preventDefault();
      void take(event.dataTransfer as DataTransfer);
    };
    const take = async (gift: DataTransfer) => {
      const links = gift.getData('text/uri-list') || gift.getData('text/plain');
      const files = [...gift.files];
      const read = await readGivenFiles(
        app,
        files.filter(({ name }) => isDescription(name)),
      );
      const { metalinks } = read;
      const given = [links, read.text].filter((one) => one !== '').join('\n');
      if (given !== '' || metalinks.length > 0) {
        actions.open({ kind: 'add', text: given, metalinks });
        return;
      }
      const others = files.filter(({ name }) => !isDescription(name));
      if (others.length > 0) actions.open({ kind: 'send', files: others });
    };
    const onPaste = (event: ClipboardEvent) => {
      const target = event.target as Element;
      if (target.closest('input, textarea, [role="dialog"]') !== null) return;
      const pasted = event.clipboardData?.getData('text/plain') ?? '';
      if (pasted.trim() === '') return;
      event.preventDefault();
      actions.add(pasted);
    };
    window.addEventListener('dragover', onOver);
    window.addEventListener('dragleave', onLeave);
    window.addEventListener('drop', onDrop);
    window.addEventListener('paste', onPaste);
    return () => {
      window.removeEventListener('dragover', onOver);
      window.removeEventListener('dragleave', onLeave);
      window.removeEventListener('drop', onDrop);
      window.removeEventListener('paste', onPaste);
    };
  }, [app, actions]);

  if (!over) return null;
  return (
    <div className="drop-zone" aria-hidden="true">
      <div>
        <Icon name="active" size={40} />
        <strong>{text.t('drop.title')}</strong>
        <span>{text.t('drop.text')}</span>
      </div>
    </div>
  );
}
