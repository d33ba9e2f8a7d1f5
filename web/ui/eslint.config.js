import js from '@eslint/js'
import prettier from 'eslint-config-prettier'
import vue from 'eslint-plugin-vue'
import accessibility from 'eslint-plugin-vuejs-accessibility'
import globals from 'globals'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'e2e/.out', 'src/lib/api/schema.d.ts'] },
  js.configs.recommended,
  tseslint.configs.strict,
  vue.configs['flat/recommended'],
  accessibility.configs['flat/recommended'],
  {
    files: ['src/**/*.{ts,vue}'],
    languageOptions: {
      globals: globals.browser,
      parserOptions: { parser: tseslint.parser, extraFileExtensions: ['.vue'] },
    },
    rules: {
      'vue/component-api-style': ['error', ['script-setup']],
      'vue/define-macros-order': 'error',
      'vue/block-lang': ['error', { script: { lang: 'ts' } }],
      'vue/no-static-inline-styles': 'error',
      'vue/no-v-html': 'error',
      'vue/require-default-prop': 'off',
      // A label may wrap its control or name it: either is enough.
      'vuejs-accessibility/label-has-for': ['error', { required: { some: ['nesting', 'id'] } }],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['public/*.js'],
    languageOptions: { globals: globals.browser, sourceType: 'script' },
    rules: { '@typescript-eslint/no-unused-vars': ['error', { caughtErrors: 'none' }] },
  },
  {
    files: ['e2e/**/*.mjs', '*.config.{js,ts}', 'docs-assets.ts'],
    languageOptions: { globals: { ...globals.node, document: 'readonly', window: 'readonly' } },
  },
  prettier,
)
