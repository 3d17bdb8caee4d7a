/** Filters a long list of links, and checks or unchecks what is shown. */

import { Field, Select } from '@millrace/shared/ui/fields';
import {
  type FoundFilter,
  kindsOf,
  NO_FILTER,
  OTHER_KIND,
  type ShownLink,
} from '../../model/adding/found-filter.ts';
import { categoryName } from '../common/category-name.ts';
import { useText } from '../common/context.tsx';

interface ToolsProps {
  readonly links: readonly ShownLink[];
  readonly shown: readonly ShownLink[];
  readonly filter: FoundFilter;
  readonly onFilter: (filter: FoundFilter) => void;
  /** Checks or unchecks all links that are shown. */
  readonly onAll: (checked: boolean) => void;
}

export function FoundTools({ links, shown, filter, onFilter, onAll }: ToolsProps) {
  const text = useText();
  const kinds = kindsOf(links);
  const all = text.t('add.filter.allKinds');
  const options = [
    { value: '', label: all },
    ...kinds.map((value) => ({
      value,
      label: value === OTHER_KIND ? text.t('add.filter.others') : categoryName(text, value),
    })),
  ];
  const isFiltered = filter.text.trim() !== '' || filter.kind !== '';
  return (
    <div className="found-tools">
      <Field
        label={text.t('add.filter')}
        value={filter.text}
        placeholder={text.t('add.filter.placeholder')}
        onChange={(event) => onFilter({ ...filter, text: event.target.value })}
      />
      <Select
        label={text.t('add.filter.kind')}
        options={options}
        value={kinds.includes(filter.kind) ? filter.kind : ''}
        onChange={(kind) => onFilter({ ...filter, kind })}
      />
      <div className="found-all">
        <button type="button" className="text-button" onClick={() => onAll(true)}>
          {text.t('add.filter.check')}
        </button>
        <button type="button" className="text-button" onClick={() => onAll(false)}>
          {text.t('add.filter.uncheck')}
        </button>
        {isFiltered && (
          <>
            <span className="note" role="status">
              {text.t('add.filter.shown', {
                part: text.number(shown.length),
                whole: text.number(links.length),
              })}
            </span>
            <button type="button" className="text-button" onClick={() => onFilter(NO_FILTER)}>
              {text.t('add.filter.clear')}
            </button>
          </>
        )}
      </div>
    </div>
  );
}
