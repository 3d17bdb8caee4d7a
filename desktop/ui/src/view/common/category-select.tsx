/** The categories that a download can be put under. */

import { Select } from '@millrace/shared/ui/fields';
import { categoryName } from './category-name.ts';
import { useAppState, useText } from './context.tsx';

interface CategoryChoice {
  /** null: none. */
  readonly value: string | null;
  readonly label: string;
}

export function useCategories(): CategoryChoice[] {
  const text = useText();
  const categories = useAppState(({ settings }) => settings?.categories) ?? [];
  return [
    ...categories.map(({ name }) => ({ value: name, label: categoryName(text, name) })),
    { value: null, label: text.t('category.none') },
  ];
}

interface SelectProps {
  readonly value: string | null;
  /** True if another element beside the field names it. */
  readonly bare?: boolean;
  readonly onChange: (category: string | null) => void;
}

export function CategorySelect({ value, bare = false, onChange }: SelectProps) {
  const text = useText();
  const choices = useCategories();
  // A category that the settings no longer have is still the download's.
  if (!choices.some((choice) => choice.value === value)) {
    choices.unshift({ value, label: value ?? '' });
  }
  const place = choices.findIndex((choice) => choice.value === value);
  return (
    <Select
      label={text.t('details.category')}
      bare={bare}
      value={String(place)}
      options={choices.map(({ label }, i) => ({ value: String(i), label }))}
      onChange={(chosen) => onChange(choices[Number(chosen)]?.value ?? null)}
    />
  );
}
