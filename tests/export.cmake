# What leaves a store, and what of it is dropped.
exhibit_unit_test(needs exhibit_record pack_fixture)
