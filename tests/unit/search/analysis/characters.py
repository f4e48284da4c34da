"""Characters that the analysis treats specially."""

#: Scripts, marks, and what identifiers and names are made of.
SIGNS = (
    "aZé9_.-/+#'’ \n\u00ad\u0301ßİσΣйЙ部署指南設定カタ仮ｶﾞがか\u3099충돌은"
    "\u1112\u1161\u11abกำ\u0e48हिद\u0940الك\u0650ت\u064e🙂𠮷𝐀\ue000"
)
